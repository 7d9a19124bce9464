# The base of every environment: Python, the GL libraries, a pinned uv, a user without rights.
# Any Debian or Ubuntu base will do, CUDA or not. Legacy builder and BuildKit both build it.
ARG BASE_IMAGE=debian:12.12-slim

FROM ${BASE_IMAGE} AS system
RUN export DEBIAN_FRONTEND=noninteractive \
    && apt-get update \
    && apt-get install --yes --no-install-recommends \
        ca-certificates python3 python3-venv \
        libegl1 libgl1-mesa-dri libgles2 libgl1 libosmesa6 \
    && rm -rf /var/lib/apt/lists/* /var/cache/apt/*.bin
# Some bases have given uid 1000 away already; /out must belong to it so that a new volume does.
RUN taken="$(getent passwd 1000 | cut -d: -f1)" \
    && if [ -n "${taken}" ]; then usermod --login robosmoke --home /home/robosmoke --move-home "${taken}"; \
       else useradd --uid 1000 --create-home --shell /usr/sbin/nologin robosmoke; fi \
    && mkdir -p /opt/robosmoke /out \
    && chown 1000:1000 /out

# Whatever the settings hold (an index with a password, certificates) stays in this stage.
FROM system AS tools
ARG STAGE_LABEL=tools
LABEL robosmoke.stage=${STAGE_LABEL}
ARG UV_VERSION=0.13.9
COPY settings /tmp/settings
RUN . /tmp/settings/installer.sh \
    && python3 -m venv /opt/robosmoke/tools \
    && /opt/robosmoke/tools/bin/pip install --no-cache-dir --disable-pip-version-check "uv==${UV_VERSION}"

FROM system
COPY --from=tools /opt/robosmoke/tools /opt/robosmoke/tools

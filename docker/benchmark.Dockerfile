# One recipe for every benchmark: its dependencies, without a line of robosmoke's code.
ARG ROBOSMOKE_BASE

# Whatever the settings hold (an index with a password, certificates) stays in this stage.
FROM ${ROBOSMOKE_BASE} AS builder
ARG STAGE_LABEL=builder
LABEL robosmoke.stage=${STAGE_LABEL}
ARG PYTHON_VERSION
ARG TORCH_VERSION=""
ENV UV_NO_CACHE=1 UV_LINK_MODE=copy UV_COMPILE_BYTECODE=1 UV_NO_PROGRESS=1 \
    UV_PYTHON_INSTALL_DIR=/opt/robosmoke/python VIRTUAL_ENV=/opt/robosmoke/venv \
    PATH=/opt/robosmoke/tools/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
COPY settings /tmp/settings
RUN . /tmp/settings/installer.sh \
    && mkdir -p "${UV_PYTHON_INSTALL_DIR}" \
    && uv venv --python "${PYTHON_VERSION}" "${VIRTUAL_ENV}"
COPY lock.txt constraints.txt /tmp/
# Torch first and alone, with its dependencies, from the index the user chose.
RUN if [ -n "${TORCH_VERSION}" ]; then \
        . /tmp/settings/installer.sh && . /tmp/settings/torch.sh \
        && uv pip install "torch==${TORCH_VERSION}" --constraint /tmp/constraints.txt; \
    fi
RUN . /tmp/settings/installer.sh \
    && uv pip install --no-deps --require-hashes --requirement /tmp/lock.txt

FROM ${ROBOSMOKE_BASE}
ARG APT_PACKAGES=""
RUN if [ -n "${APT_PACKAGES}" ]; then \
        export DEBIAN_FRONTEND=noninteractive \
        && apt-get update \
        && apt-get install --yes --no-install-recommends ${APT_PACKAGES} \
        && rm -rf /var/lib/apt/lists/* /var/cache/apt/*.bin; \
    fi
COPY --from=builder /opt/robosmoke/python /opt/robosmoke/python
COPY --from=builder /opt/robosmoke/venv /opt/robosmoke/venv
USER 1000:1000
WORKDIR /tmp

# The last layer: robosmoke's own wheel and a third party's, unpacked; made again in about a second.
ARG ROBOSMOKE_ENVIRONMENT
FROM ${ROBOSMOKE_ENVIRONMENT}
COPY wheels /opt/robosmoke/wheels

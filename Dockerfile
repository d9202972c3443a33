# The graphkin command: `docker build -t graphkin .` with its server, for Neo4j too, or
# `--build-arg EXTRA=trainer -t graphkin-trainer` with the trainer.

FROM python:3.11-slim-bookworm AS packages
WORKDIR /build
ENV PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1
# The packages to build with and to install, each pinned by the hashes of its files. `make pins` writes these lists.
COPY deploy/requirements deploy/requirements
ARG EXTRA=neo4j
RUN python -m venv /opt/build && /opt/build/bin/pip install --require-hashes -r deploy/requirements/build.txt \
    && python -m venv --without-pip /opt/graphkin \
    && /opt/build/bin/pip --python /opt/graphkin/bin/python install --require-hashes -r "deploy/requirements/$EXTRA.txt" \
    && find /opt/graphkin -type d -name tests -prune -exec rm -r {} +

FROM packages AS build
COPY . .
# graphkin goes into a folder of its own, so that a change of it does not change the layer of its packages.
RUN /opt/build/bin/pip wheel --no-deps --no-build-isolation --wheel-dir /wheels . \
    && /opt/build/bin/pip --python /opt/graphkin/bin/python install --no-deps --no-index --root /own /wheels/*.whl \
    && cp -r /own/opt /
# The bill of materials: the installed packages, with graphkin as the component that they belong to.
RUN /opt/build/bin/cyclonedx-py environment --pyproject pyproject.toml --output-reproducible \
    -o /own/opt/graphkin/sbom.cdx.json /opt/graphkin

FROM python:3.11-slim-bookworm
# The drawing code of RDKit is linked with these libraries.
RUN apt-get update \
    && apt-get install -y --no-install-recommends libexpat1 libxext6 libxrender1 \
    && rm -rf /var/lib/apt/lists/*
# A named volume that is mounted here inherits the owner of the folder.
RUN useradd --uid 10001 --user-group --no-create-home graphkin \
    && install -d -o graphkin -g graphkin /var/cache/graphkin /runs
COPY --from=packages /opt/graphkin /opt/graphkin
COPY --from=build /own/opt/graphkin /opt/graphkin
ENV PATH=/opt/graphkin/bin:$PATH \
    GRAPHKIN_CACHE_DIR=/var/cache/graphkin \
    XDG_CACHE_HOME=/var/cache/graphkin \
    NUMBA_CACHE_DIR=/var/cache/graphkin/numba
LABEL org.opencontainers.image.title=graphkin \
    org.opencontainers.image.description="A similarity store for molecules and graphs: every similar pair, search and repeatable training positives, by command, Python and REST." \
    org.opencontainers.image.licenses=Apache-2.0 \
    org.opencontainers.image.version=0.2.0
USER graphkin
WORKDIR /var/cache/graphkin
EXPOSE 8000
# The check is about `serve` on its default port. Any other command passes it.
HEALTHCHECK --start-period=2m \
    CMD ! grep -qzx serve /proc/1/cmdline \
        || python -c "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8000/readyz')"
ENTRYPOINT ["graphkin"]
CMD ["--help"]

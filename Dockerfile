# The server, with its kernels compiled in the image:
#
#     docker build -t crossarc .
#     docker run --rm -p 127.0.0.1:8765:8765 crossarc
#
# Kernels are compiled for the processor that builds the image; on another one the first start compiles
# them again. With -v "$PWD/models:/models:ro" add `-m /models/my.crossarc` at the end.

FROM python:3.12-slim AS build
WORKDIR /source
COPY pyproject.toml README.md LICENSE ./
COPY src ./src
RUN python -m venv /opt/crossarc \
    && /opt/crossarc/bin/pip install --no-cache-dir ".[web]"

FROM python:3.12-slim
COPY --from=build /opt/crossarc /opt/crossarc
RUN useradd --system --create-home crossarc \
    && mkdir /var/cache/crossarc \
    && chown crossarc /var/cache/crossarc
ENV PATH=/opt/crossarc/bin:$PATH \
    NUMBA_CACHE_DIR=/var/cache/crossarc \
    PYTHONUNBUFFERED=1
USER crossarc
RUN crossarc warmup parse inference stats
EXPOSE 8765
HEALTHCHECK --interval=30s --timeout=5s --start-period=20s \
    CMD ["python", "-c", "from urllib.request import urlopen; urlopen('http://127.0.0.1:8765/health', timeout=4)"]
# Inside a container every address must be listened on; -p says who outside may connect.
ENTRYPOINT ["crossarc", "serve", "--host", "0.0.0.0", "--port", "8765"]

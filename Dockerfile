# Server image: docker build -t cgru .   (docs/server.md)
FROM python:3.12-slim-bookworm AS build
WORKDIR /source
COPY . .
RUN python -m venv /opt/cgru && /opt/cgru/bin/pip install --no-cache-dir '.[serve,prep,documents]'

FROM python:3.12-slim-bookworm
COPY --from=build /opt/cgru /opt/cgru
USER 10001
EXPOSE 8080
# After SIGTERM, the server finishes open requests and stops.
STOPSIGNAL SIGTERM
HEALTHCHECK --start-period=60s CMD ["/opt/cgru/bin/python", "-c", \
  "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8080/health/ready')"]
ENTRYPOINT ["/opt/cgru/bin/cgru", "serve", "--host", "0.0.0.0"]
CMD ["-m", "/models/model.npz"]

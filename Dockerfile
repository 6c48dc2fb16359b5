# Server image: docker build -t cgru .   (docs/server.md)
FROM python:3.12-slim-bookworm AS build
WORKDIR /source
COPY . .
# A server does not train: TensorFlow and Keras are left out.
RUN python -m venv /opt/cgru && pip install --no-cache-dir "uv<1" \
  && printf "tensorflow; python_version < '3'\nkeras; python_version < '3'\n" > /no-training.txt \
  && uv pip install --no-cache --python /opt/cgru/bin/python --override /no-training.txt \
  '.[serve,detect,prep,documents]'

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

# An image for JupyterHub or one person: docker build -t byoc-lab . && docker run -p 8888:8888 byoc-lab
FROM python:3.11-slim-bookworm AS build
RUN apt-get update && apt-get install -y --no-install-recommends g++ && rm -rf /var/lib/apt/lists/*
COPY . /src
RUN pip wheel --no-deps --wheel-dir /wheels /src

FROM python:3.11-slim-bookworm
# The exercise c-kernel and back ends of Python code compile C.
RUN apt-get update && apt-get install -y --no-install-recommends gcc libc6-dev libgomp1 \
    && rm -rf /var/lib/apt/lists/*
COPY --from=build /wheels /wheels
RUN pip install --no-cache-dir /wheels/*.whl "jupyterhub>=5" onnx && rm -r /wheels
ARG NB_USER=student
ARG NB_UID=1000
RUN useradd --create-home --uid ${NB_UID} ${NB_USER}
ENV BYOC_LAB_THREADS=1 OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 TVM_NUM_THREADS=1
USER ${NB_USER}
WORKDIR /home/${NB_USER}
RUN byoc-lab notebooks --no-open .
EXPOSE 8888
CMD ["jupyter", "lab", "--ip=0.0.0.0", "--no-browser", "notebooks/00_start_here.ipynb"]

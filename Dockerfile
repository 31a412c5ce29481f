# The gateway as an image: built with everything, run with nothing but Node and what the gateway needs, as an ordinary user.
#
#   docker build -t oncegate .
#   docker run -p 8080:8080 -v oncegate-data:/data -e UPSTREAM=http://api:3000 oncegate

FROM node:24 AS builder
WORKDIR /app
COPY package.json package-lock.json ./
RUN npm ci --no-audit --no-fund
COPY tsconfig.json ./
COPY src ./src
RUN npm run build

FROM node:24-slim
ENV NODE_ENV=production
WORKDIR /app
COPY package.json package-lock.json ./
RUN npm ci --omit=dev --no-audit --no-fund && npm cache clean --force
COPY --from=builder /app/build/src ./build/src
COPY config ./config
COPY LICENSE CHANGELOG.md ./

# The embedded store and the spool live here; a fresh volume takes over the owner of the folder.
RUN mkdir /data && chown node:node /data && ln -s /data spool
VOLUME /data
USER node

# 8080 takes the traffic; 9080 serves health and records and is not for the public: ONCEGATE_ADMIN_TOKEN guards it.
EXPOSE 8080 9080
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=3s --start-period=10s --retries=3 \
  CMD ["node", "-e", "fetch('http://127.0.0.1:9080/healthz').then((answer) => process.exit(answer.ok ? 0 : 1), () => process.exit(1))"]

# No shell in between: the signal reaches the gateway, and running executions finish.
ENTRYPOINT ["node", "build/src/main.js"]
CMD ["start", "--listen", "0.0.0.0:8080", "--admin", "0.0.0.0:9080", "--store", "lmdb:/data"]

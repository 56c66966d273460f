# shellcheck shell=bash
# Sourced. Certificates for one life of a cluster.

# make_certificates FOLDER ADDRESS...: an authority, a server certificate for the addresses, an administrator's client
# certificate, and the key that signs the tokens of service accounts
make_certificates() {
  local folder="$1" names=DNS:localhost,DNS:kubernetes,DNS:kubernetes.default,DNS:kubernetes.default.svc,IP:127.0.0.1
  shift
  mkdir -m 700 "$folder"
  (
    cd "$folder" || exit
    new_key ca
    openssl req -x509 -new -key ca.key -out ca.crt -days 365 -subj "/CN=clustersync-e2e" 2>/dev/null
    certificate apiserver /CN=kube-apiserver "subjectAltName=$names$(printf ',IP:%s' "$@")"
    certificate admin /O=system:masters/CN=admin extendedKeyUsage=clientAuth
    new_key service-account
    openssl ec -in service-account.key -pubout -out service-account.pub 2>/dev/null
  )
}

new_key() {
  openssl ecparam -name prime256v1 -genkey -noout -out "$1.key"
}

# certificate NAME SUBJECT EXTENSION
certificate() {
  new_key "$1"
  openssl req -new -key "$1.key" -subj "$2" |
    openssl x509 -req -CA ca.crt -CAkey ca.key -CAcreateserial -days 365 -out "$1.crt" \
      -extfile <(echo "$3") 2>/dev/null
}

# kubeconfig_of FOLDER SERVER: the administrator's, complete in itself
kubeconfig_of() {
  cat <<YAML
apiVersion: v1
kind: Config
clusters:
  - name: e2e
    cluster: { server: '$2', certificate-authority-data: $(base64 -w0 "$1/ca.crt") }
users:
  - name: admin
    user:
      client-certificate-data: $(base64 -w0 "$1/admin.crt")
      client-key-data: $(base64 -w0 "$1/admin.key")
contexts:
  - name: e2e
    context: { cluster: e2e, user: admin }
current-context: e2e
YAML
}

#!/bin/sh
# weft-vault.sh ROLE: a login to the devices for this job alone. What the forge says of the
# job (its OIDC token) is shown to Vault or OpenBao, which signs an SSH key that was made
# just now: for half an hour, in an agent, and nowhere else. Vault's token is revoked. No
# secret stands in an argument or in what is printed, which is where the agent is.
#
# GitHub: permissions { id-token: write }, and   sh weft-vault.sh fabric >> "$GITHUB_ENV"
# GitLab: id_tokens { VAULT_ID_TOKEN }, and      export $(sh weft-vault.sh fabric)
set -eu
umask 077
role=${1:?the role in Vault, which is bound to the environment of the job}
: "${VAULT_ADDR:?https://vault.example.net}"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# ask URL [FILE]: what is answered goes to $work/answer; with a file that is sent.
ask() {
	curl --silent --show-error --fail --proto =https --output "$work/answer" --header "@$work/header" ${2:+--data "@$2"} "$1"
}

if [ -n "${VAULT_ID_TOKEN-}" ]; then
	printf %s "$VAULT_ID_TOKEN" >"$work/jwt"
else
	printf 'Authorization: bearer %s\n' "$ACTIONS_ID_TOKEN_REQUEST_TOKEN" >"$work/header"
	ask "$ACTIONS_ID_TOKEN_REQUEST_URL&audience=$VAULT_ADDR"
	jq -ejr .value "$work/answer" >"$work/jwt"
fi

echo 'Content-Type: application/json' >"$work/header"
jq -n --arg role "$role" --rawfile jwt "$work/jwt" '{$role, $jwt}' >"$work/login"
ask "$VAULT_ADDR/v1/auth/jwt/login" "$work/login"
jq -er '"X-Vault-Token: " + .auth.client_token' "$work/answer" >>"$work/header"

ssh-keygen -q -t ed25519 -N '' -C "weft, $role" -f "$work/key"
jq -n --rawfile key "$work/key.pub" --arg user "${WEFT_USER:-weft}" '{public_key: $key, valid_principals: $user, ttl: "30m"}' >"$work/sign"
ask "$VAULT_ADDR/v1/ssh/sign/$role" "$work/sign"
jq -er .data.signed_key "$work/answer" >"$work/key-cert.pub"
: >"$work/none"
ask "$VAULT_ADDR/v1/auth/token/revoke-self" "$work/none"

eval "$(ssh-agent -s -t 30m)" >/dev/null
ssh-add -q "$work/key"
echo "SSH_AUTH_SOCK=$SSH_AUTH_SOCK"
echo "SSH_AGENT_PID=$SSH_AGENT_PID"

#!/bin/sh
# Prints 'timestamp id' of every snapshot of a market: BOOKREEL_KEY=br_live_… sh walk.sh btc SLUG [RECORDS-IN-A-PAGE]
: "${BOOKREEL_KEY:?set it to your API key}"
: "${2:?name a coin and a market}"
coin=$1 market=$2 limit=${3:-1000}
url=${BOOKREEL_URL:-http://127.0.0.1:8080}/v1/$coin/markets/$market/snapshots
tries_max=5 backoff_max=30
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM

# Requests a page until it arrives. Before each retry it waits for Retry-After, plus a random part of a backoff that doubles each time.
page() {
  try=1 backoff=1
  while :; do
    # curl gets the key on standard input, because all users of the machine can see its arguments.
    status=$(printf 'header = "Authorization: Bearer %s"\n' "$BOOKREEL_KEY" |
      curl --config - --silent --max-time 60 --compressed --get --data-urlencode "limit=$limit" ${1:+--data-urlencode "cursor=$1"} \
        --dump-header "$work/head" --output "$work/body" --write-out '%{http_code}' "$url") || status='broken connection'
    wait=0
    case $status in
      200) return 0 ;;
      429 | 502 | 503 | 504) wait=$(tr -d '\r' <"$work/head" | sed -n 's/^[Rr]etry-[Aa]fter: *\([0-9][0-9]*\)$/\1/p') ;;
      'broken connection') ;;
      *) break ;;
    esac
    [ "$try" -lt "$tries_max" ] || break
    random=$(od -An -N2 -tu2 /dev/urandom)
    sleep $((${wait:-0} + random % (backoff + 1)))
    try=$((try + 1)) backoff=$((backoff * 2 > backoff_max ? backoff_max : backoff * 2))
  done
  detail=''
  [ "$status" = 'broken connection' ] || detail=$(sed -n 's/.*"detail":"\(.*\)","error":.*/\1/p' "$work/body")
  echo "$status: ${detail:-gave up after $try tries}" >&2
  return 1
}

cursor=''
while :; do
  page "$cursor" || exit 1
  # Each record has its id first, then its time, then its levels. With jq: '.data[] | "\(.timestamp) \(.id)"'
  tr '{' '\n' <"$work/body" | sed -n 's/^"id":"\([0-9]*\)".*"timestamp":"\([^"]*\)".*/\2 \1/p'
  cursor=$(tr '{' '\n' <"$work/body" | sed -n 's/.*"nextCursor":"\([^"]*\)".*/\1/p')
  [ -n "$cursor" ] || break
done

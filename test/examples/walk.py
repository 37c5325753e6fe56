"""Prints 'timestamp id' of every snapshot of a market: BOOKREEL_KEY=br_live_… python3 walk.py btc SLUG [RECORDS-IN-A-PAGE]"""
import gzip, http.client, json, os, random, sys, time, urllib.error, urllib.parse, urllib.request

URL, KEY = os.environ.get("BOOKREEL_URL", "http://127.0.0.1:8080"), os.environ.get("BOOKREEL_KEY", "")
TRIES_MAX, BACKOFF_MAX, RETRIED = 5, 30, (429, 502, 503, 504)


def get(path, **query):
    """Returns the answer's document. Before each retry it waits for Retry-After, plus a random part of a backoff that doubles."""
    request = urllib.request.Request(f"{URL}{path}?{urllib.parse.urlencode(query)}", headers={"Accept-Encoding": "gzip"})
    request.add_unredirected_header("Authorization", f"Bearer {KEY}")
    for failures in range(TRIES_MAX):
        wait = 0
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                body = answer.read()
                return json.loads(gzip.decompress(body) if answer.headers["Content-Encoding"] == "gzip" else body)
        except urllib.error.HTTPError as refusal:
            reason = f"{refusal.code}: {detail_of(refusal)}"
            if refusal.code not in RETRIED:
                break
            retry_after = refusal.headers.get("Retry-After", "")
            wait = int(retry_after) if retry_after.isdecimal() else 0
        except (OSError, EOFError, http.client.HTTPException) as broken:
            reason = f"broken connection: {broken}"
        if failures + 1 < TRIES_MAX:
            time.sleep(wait + random.uniform(0, min(BACKOFF_MAX, 2**failures)))
    sys.exit(reason)


def detail_of(refusal):
    try:
        return json.loads(refusal.read())["detail"]
    except (OSError, ValueError, KeyError, TypeError, http.client.HTTPException):
        return refusal.reason  # not problem+json: the answer of a proxy


def snapshots(coin, market, **query):
    while query.get("cursor", "first") is not None:
        page = get(f"/v1/{coin}/markets/{market}/snapshots", **query)
        yield from page["data"]
        query["cursor"] = page["nextCursor"]


if __name__ == "__main__":
    if KEY == "" or len(sys.argv) < 3:
        sys.exit(__doc__)
    coin, market, limit = [*sys.argv[1:], 1000][:3]
    for record in snapshots(coin, market, limit=limit):
        print(record["timestamp"], record["id"])

"""Prints 'timestamp id' of every snapshot of a market: BOOKREEL_KEY=br_live_… python3 walk.py btc SLUG [RECORDS-IN-A-PAGE]"""
import os, sys

from bookreel import BookreelError, Client  # The package of /sdk.

if __name__ == "__main__":
    if not os.environ.get("BOOKREEL_KEY") or len(sys.argv) < 3:
        sys.exit(__doc__)
    coin, market, limit = [*sys.argv[1:], 1000][:3]
    try:
        for record in Client().snapshots(f"{coin}/{market}", page_size=int(limit)):
            print(record["timestamp"], record["id"])
    except BookreelError as error:
        sys.exit(str(error))

# Run with: bash test.sh
. lib/total.sh
got=$(total prices.txt)
if [ "$got" = 42 ]; then
    echo "ok: the total is 42"
else
    echo "FAILED: the total should be 42, got $got"
    exit 1
fi

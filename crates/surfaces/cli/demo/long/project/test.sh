# Run with: bash test.sh
. lib/invoice.sh
all=0 wrong=0
while read -r order sum; do
    all=$((all + 1))
    [ "$(sum_of "$order")" = "$sum" ] || wrong=$((wrong + 1))
done <data/contract.txt
if [ "$wrong" = 0 ]; then
    echo "ok: $all sums are right"
else
    echo "FAILED: $wrong of $all sums are wrong"
    exit 1
fi

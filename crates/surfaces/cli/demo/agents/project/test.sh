#!/bin/bash
# Compares the total of every order with what the customer should pay.
cd "$(dirname "$0")" || exit 2
. lib/price.sh
. lib/tax.sh
. lib/shipping.sh
failed=
while read -r number pieces each expected; do
    sleep 0.1
    price=$(price "$pieces" "$each")
    total=$((price + $(tax "$price") + $(shipping "$price")))
    [ "$total" -eq "$expected" ] || failed="$failed order $number should be $expected, is $total;"
done <orders.txt
[ -z "$failed" ] && echo "ok: all totals are right" && exit
echo "FAILED:$failed"
exit 1

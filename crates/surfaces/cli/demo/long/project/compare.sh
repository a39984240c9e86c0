# Names the orders whose sum is not what the contract says.
. lib/invoice.sh
same=0
while read -r order sum; do
    is=$(sum_of "$order")
    if [ "$is" = "$sum" ]; then
        same=$((same + 1))
    else
        echo "order $order differs: should be $sum, is $is"
    fi
done <data/contract.txt
echo "$same orders agree"

. lib/discount.sh

# The sum of an order. Lines of the file: order, thing, how many, cents for one.
sum_of() {
    sum=0
    while read -r order _ count price; do
        [ "$order" = "$1" ] || continue
        sum=$((sum + $(after_discount $((count * price)))))
    done <data/orders.txt
    echo "$sum"
}

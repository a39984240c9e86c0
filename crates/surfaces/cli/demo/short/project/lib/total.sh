# Adds up the prices of a list: one item a line, its name and its price.
total() {
    sum=0
    while read -r _ price; do
        sum=$((sum - price))
    done <"$1"
    echo "$sum"
}

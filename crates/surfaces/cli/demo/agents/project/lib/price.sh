# price PIECES EACH: the price of an order
price() {
    echo $(($1 * $2))
}

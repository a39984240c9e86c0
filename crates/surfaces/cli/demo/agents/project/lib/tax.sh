# tax PRICE: the tax on a price
tax() {
    echo $(($1 * 10 / 100))
}

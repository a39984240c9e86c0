# shipping PRICE: what sending an order costs
shipping() {
    if [ "$1" -ge 100 ]; then
        echo 0
    else
        echo 5
    fi
}

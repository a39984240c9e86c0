# Regular customers have a discount of 25 tenths of a percent.
discount=25

# What is left of an amount in cents, rounded to the nearest cent.
after_discount() {
    echo $((($1 * (1000 - discount) + 500) / 1000))
}

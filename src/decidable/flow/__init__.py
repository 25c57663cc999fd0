"""Logic with steps, written once: generators that yield what they want done, and the two drivers that do it."""

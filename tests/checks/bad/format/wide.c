/* This comment is longer than a line may be, which the formatter does not change by itself. */

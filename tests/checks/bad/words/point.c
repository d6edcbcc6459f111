/* In a comment "roster.full" is a word. */
void weir_passes(struct weir_fault_points *points)
{
    (void)WEIR_POINT(points, "partition_table.full");
    (void)WEIR_POINT(points, "roster.full");
}

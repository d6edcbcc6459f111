/*
 * floors.c - what is ready on PostgreSQL, from floors on: see floors.h.
 *
 * The order of the index is lane, set, priority, turn. Of a priority that has a floor
 * two ranges are looked at, that of turns below 0 and the other one; of all other
 * priorities the gaps between those. Each is one look by the index. The heads of all
 * are then sorted, as those of several lanes are (postgres/store.c).
 */
#include "execution/store/postgres/floors.h"
#include "base/heap.h"
#include "db/clock.h"
#include "execution/store/postgres/store.h"
#include "execution/store/store_statements.h"

#define GAP_END ((int64_t)1 << 40) /* beyond all priorities, which are 32 bits */

enum { RANGE_WIDTH = 5, GAP_WIDTH = 4 };

/* By the index of the ready ones, in its order. */
#define FROM_FLOORS(limit)                                                               \
    " FROM (SELECT x.no, x.priority, x.turn FROM unnest({1}, {2}, {3}, {4}, {5})"        \
    " AS r (lane, capset, priority, low, high) CROSS JOIN LATERAL (SELECT no, priority," \
    " turn FROM {p}_execution x WHERE " WEIR_IS_READY " AND x.lane = r.lane"             \
    " AND x.capset = r.capset AND x.priority = r.priority AND x.turn >= r.low"           \
    " AND x.turn < r.high ORDER BY priority DESC, turn, no" limit ") x"                  \
    " UNION ALL SELECT x.no, x.priority, x.turn FROM unnest({6}, {7}, {8}, {9})"         \
    " AS g (lane, capset, above, below) CROSS JOIN LATERAL (SELECT no, priority, turn"   \
    " FROM {p}_execution x WHERE " WEIR_IS_READY " AND x.lane = g.lane"                  \
    " AND x.capset = g.capset AND x.priority > g.above AND x.priority < g.below"         \
    " ORDER BY priority DESC, turn, no" limit ") x) h"

#define PICK                                                                             \
    " FROM (SELECT h.no" FROM_FLOORS(                                                    \
        " LIMIT {11}") " ORDER BY h.priority DESC, h.turn, h.no) c CROSS JOIN LATERAL"   \
                       " (SELECT * FROM {p}_execution k WHERE k.no = c.no"               \
                       " AND k.state + 0 = 1 FOR NO KEY UPDATE SKIP LOCKED) e"
const struct weir_sql weir_pg_sql_ready_from_floors = {
    .name = "pick ready from floors",
    .text = "SELECT " WEIR_EXECUTION_COLUMNS WEIR_CLOCK_COLUMN PICK " LIMIT {10}",
    .parameters = "IIIIIIIIIii",
};
const struct weir_sql weir_pg_sql_ready_from_floors_with_inputs = {
    .name = "pick ready from floors",
    .text = "SELECT " WEIR_EXECUTION_COLUMNS WEIR_INPUT_COLUMNS " FROM (SELECT e.*" PICK
            " LIMIT {10}) e" WEIR_PG_COMPANY,
    .parameters = "IIIIIIIIIii",
};
const struct weir_sql weir_pg_sql_ready_beyond_floors = {
    .name = "look for more ready from floors",
    .text = "SELECT h.no" FROM_FLOORS(" LIMIT 1 OFFSET {10}") " LIMIT 1",
    .parameters = "IIIIIIIIIi",
};

/* By the same index, without a lock. The session counts the entries of an index that it
 * walks, and shows the number at once: what it was before is read first, what it is
 * afterwards last. */
#define WALKED "pg_stat_get_xact_tuples_returned('{q}_execution_ready'::regclass)"
#define FIRST_TURN(low, high)                                                            \
    "(SELECT x.turn FROM {p}_execution x WHERE " WEIR_IS_READY " AND x.lane = r.lane"    \
    " AND x.capset = r.capset AND x.priority = r.priority AND x.turn >= " low high       \
    " ORDER BY x.priority DESC, x.turn, x.no LIMIT 1)"
const struct weir_sql weir_pg_sql_learn_floors = {
    .name = "learn floors",
    .text =
        "SELECT s.n, s.again, s.fresh, {now}, " WALKED " - s.walked FROM"
        " (SELECT r.n, " WALKED
        " AS walked, " FIRST_TURN("r.again", " AND x.turn < 0") " AS again, " FIRST_TURN(
            "r.fresh",
            "") " AS fresh FROM unnest({1}, {2}, {3}, {4}, {5}) WITH ORDINALITY"
                " AS r (lane, capset, priority, again, fresh, n) OFFSET 0) s",
    .parameters = "IIIII",
};

/* ---- ranges ------------------------------------------------------------------------ */

static void set_row(struct weir_columns *table, size_t row, const int64_t *numbers,
                    size_t width)
{
    for (size_t i = 0; i < width; i++)
        weir_columns_set(table, i, row, weir_integer(numbers[i]));
}

static void add_floor(struct weir_floor_ranges *self, const struct weir_floor *floor)
{
    const int64_t again[RANGE_WIDTH] = {floor->lane, floor->capability_set,
                                        floor->priority, floor->again, 0};
    const int64_t fresh[RANGE_WIDTH] = {floor->lane, floor->capability_set,
                                        floor->priority, floor->fresh, INT64_MAX};

    set_row(&self->ranges, self->range_count++, again, RANGE_WIDTH);
    set_row(&self->ranges, self->range_count++, fresh, RANGE_WIDTH);
}

static void add_gap(struct weir_floor_ranges *self, int64_t lane, int64_t capability_set,
                    int64_t above, int64_t below)
{
    const int64_t gap[GAP_WIDTH] = {lane, capability_set, above, below};

    if (below - above > 1)
        set_row(&self->gaps, self->gap_count++, gap, GAP_WIDTH);
}

/* Floors of one lane and set are together, larger priorities first. */
static void lay_out(struct weir_floor_ranges *self, const struct weir_floor *floors,
                    size_t count, int64_t lane, int64_t capability_set)
{
    int64_t below = GAP_END;

    for (size_t i = 0; i < count; i++) {
        if (floors[i].lane != lane || floors[i].capability_set != capability_set)
            continue;
        add_floor(self, &floors[i]);
        add_gap(self, lane, capability_set, floors[i].priority, below);
        below = floors[i].priority;
    }
    add_gap(self, lane, capability_set, -GAP_END, below);
}

static void set_values(struct weir_floor_ranges *self)
{
    for (size_t i = 0; i < RANGE_WIDTH; i++)
        self->values[i] =
            weir_columns_array(&self->ranges, i, WEIR_TYPE_INTEGER, 0, self->range_count);
    for (size_t i = 0; i < GAP_WIDTH; i++)
        self->values[RANGE_WIDTH + i] =
            weir_columns_array(&self->gaps, i, WEIR_TYPE_INTEGER, 0, self->gap_count);
}

enum weir_status weir_floor_ranges_init(struct weir_floor_ranges *self,
                                        const struct weir_heap *heap,
                                        const struct weir_ready_query *query,
                                        struct weir_error *error)
{
    struct weir_floor floors[WEIR_FLOORS_MAX];
    size_t count =
        weir_floors_copy(query->floors, query->lanes, query->lane_count,
                         query->capability_sets, query->capability_set_count, floors);
    size_t gaps = query->lane_count * query->capability_set_count + count;
    enum weir_status status;

    *self = (struct weir_floor_ranges){.gaps = {.heap = heap}, .ranges = {.heap = heap}};
    if (count == 0)
        return WEIR_OK;
    status = weir_columns_init(&self->ranges, heap, RANGE_WIDTH, 2 * count, error);
    if (status == WEIR_OK)
        status = weir_columns_init(&self->gaps, heap, GAP_WIDTH, gaps, error);
    if (status != WEIR_OK)
        return status;
    for (size_t i = 0; i < query->lane_count; i++) {
        for (size_t j = 0; j < query->capability_set_count; j++)
            lay_out(self, floors, count, query->lanes[i], query->capability_sets[j]);
    }
    set_values(self);
    return WEIR_OK;
}

void weir_floor_ranges_fini(struct weir_floor_ranges *self)
{
    weir_columns_fini(&self->ranges);
    weir_columns_fini(&self->gaps);
}

/* ---- learning ---------------------------------------------------------------------- */

static int64_t turn_or_none(struct weir_rows *rows, size_t column)
{
    return weir_rows_is_null(rows, column) ? INT64_MAX : weir_rows_integer(rows, column);
}

static enum weir_status ask(const struct weir_store *store,
                            struct weir_connection *connection, struct weir_floor *floors,
                            size_t count, int64_t *clock_us, int64_t *walked,
                            struct weir_error *error)
{
    struct weir_value values[RANGE_WIDTH];
    struct weir_rows rows = {.connection = NULL};
    struct weir_columns table;
    enum weir_status status =
        weir_columns_init(&table, store->heap, RANGE_WIDTH, count, error);

    for (size_t i = 0; i < count && status == WEIR_OK; i++) {
        const int64_t numbers[RANGE_WIDTH] = {floors[i].lane, floors[i].capability_set,
                                              floors[i].priority, floors[i].again,
                                              floors[i].fresh};

        set_row(&table, i, numbers, RANGE_WIDTH);
    }
    for (size_t i = 0; i < RANGE_WIDTH && status == WEIR_OK; i++)
        values[i] = weir_columns_array(&table, i, WEIR_TYPE_INTEGER, 0, count);
    if (status == WEIR_OK)
        status = weir_connection_query(connection, &weir_pg_sql_learn_floors, values,
                                       RANGE_WIDTH, &rows, error);
    while (status == WEIR_OK && (status = weir_rows_next(&rows, error)) == WEIR_OK) {
        struct weir_floor *floor = &floors[weir_rows_integer(&rows, 0) - 1];

        floor->again = turn_or_none(&rows, 1);
        floor->fresh = turn_or_none(&rows, 2);
        *clock_us = weir_rows_integer(&rows, 3);
        *walked += weir_rows_integer(&rows, 4);
    }
    weir_rows_close(&rows);
    weir_columns_fini(&table);
    return status == WEIR_NO_ROW ? WEIR_OK : status;
}

enum weir_status weir_floors_learn(struct weir_floors *self,
                                   const struct weir_store *store,
                                   struct weir_connection *connection, bool slowly,
                                   struct weir_error *error)
{
    struct weir_floor floors[WEIR_FLOORS_MAX];
    int64_t begun_ns = weir_clock_now_ns();
    int64_t clock_us = 0, walked = 0;
    int64_t now_ns;
    size_t count = 0;
    enum weir_floors_due due = weir_floors_begin(self, begun_ns, floors, &count);
    enum weir_status status;

    if (due == WEIR_FLOORS_NOTHING)
        return WEIR_OK;
    status = ask(store, connection, floors, count, &clock_us, &walked, error);
    now_ns = weir_clock_now_ns();
    if (status == WEIR_OK)
        weir_floors_learnt(self, due, floors, count, clock_us,
                           slowly ? WEIR_FLOORS_WALK_MIN : walked, now_ns - begun_ns,
                           now_ns);
    else
        weir_floors_forget(self);
    return status;
}

/*
 * flow_plan.c - see flow/flow_plan.h.
 *
 * A field of JSON is an option with its value as a text, so both are judged by the same
 * rules.
 */
#include "cli/flow/flow_plan.h"

#include <stdlib.h>
#include <string.h>

#include "base/count.h"
#include "base/json_read.h"
#include "base/md5.h"
#include "base/nearest.h"
#include "base/text.h"
#include "cli/execution/execution_words.h"
#include "execution/draft.h"
#include "weir/heap.h"

enum {
    ARENA_SIZE_MAX = 512 << 20,
    LIST_SIZE_MAX = 64 << 20,
    FIELDS_MAX = 40,
    DEPTH_MAX = 33,
};

struct edge {
    const char *from;
    struct weir_plan_end to;
    bool passes_data;
    size_t line; /* 0: none */
};

struct join {
    struct weir_plan_end to;
    struct weir_flow_join join;
    size_t line; /* 0: none */
};

void weir_flow_plan_init(struct weir_flow_plan *self, const struct weir_command *command,
                         uint32_t partitions)
{
    const struct weir_heap *heap = weir_heap_system();

    *self = (struct weir_flow_plan){.command = command, .partitions = partitions};
    weir_arena_init(&self->arena, heap, ARENA_SIZE_MAX);
    weir_map_init(&self->names, heap, WEIR_BATCH_MAX);
    weir_buf_init(&self->members, heap, LIST_SIZE_MAX);
    weir_buf_init(&self->edges, heap, LIST_SIZE_MAX);
    weir_buf_init(&self->joins, heap, LIST_SIZE_MAX);
}

void weir_flow_plan_fini(struct weir_flow_plan *self)
{
    weir_arena_fini(&self->arena);
    weir_map_fini(&self->names);
    weir_buf_fini(&self->members);
    weir_buf_fini(&self->edges);
    weir_buf_fini(&self->joins);
}

size_t weir_flow_plan_member_count(const struct weir_flow_plan *self)
{
    return self->members.size / sizeof(struct weir_plan_member);
}

static struct weir_plan_member *member_at(const struct weir_flow_plan *self, size_t index)
{
    return (struct weir_plan_member *)(void *)self->members.data + index;
}

const struct weir_plan_member *weir_flow_plan_member(const struct weir_flow_plan *self,
                                                     size_t index)
{
    return member_at(self, index);
}

static int out_of_memory(const struct weir_flow_plan *self)
{
    return weir_command_fail(self->command, "out of memory");
}

/* ---- parts ------------------------------------------------------------------------- */

static int add_name(struct weir_flow_plan *self, const char *name, size_t index)
{
    struct weir_error error = {0};

    if (weir_member_name_check(name, &error) != WEIR_OK)
        return weir_command_misuse(self->command, "%s", error.text);
    if (weir_map_find(&self->names, weir_str(name)) != NULL)
        return weir_command_misuse(self->command, "two members are called '%s'", name);
    return weir_map_put(&self->names, weir_str(name), (void *)(uintptr_t)(index + 1)) ==
                   WEIR_OK
               ? WEIR_EXIT_DONE
               : out_of_memory(self);
}

/* "a,b": one edge from each. */
static int add_after(struct weir_flow_plan *self, const char *after,
                     struct weir_plan_end to, bool passes_data)
{
    char *words = weir_arena_copy_text(&self->arena, after);
    int code = WEIR_EXIT_DONE;

    if (words == NULL)
        return out_of_memory(self);
    while (words != NULL && code == WEIR_EXIT_DONE) {
        char *comma = strchr(words, ',');

        if (comma != NULL)
            *comma++ = '\0';
        code = weir_flow_plan_add_edge(self, words, to, passes_data);
        words = comma;
    }
    return code;
}

int weir_flow_plan_add_member(struct weir_flow_plan *self, struct weir_drafting *drafting,
                              const struct weir_plan_ties *ties)
{
    struct weir_plan_end end = {.member = weir_flow_plan_member_count(self)};
    struct weir_plan_member member = {.name = ties->name, .drafting = drafting};
    int code = WEIR_EXIT_DONE;

    if (end.member == WEIR_BATCH_MAX)
        return weir_command_misuse(self->command,
                                   "more than %d members in one call; add the others in "
                                   "another",
                                   WEIR_BATCH_MAX);
    if (ties->passes_data && ties->after == NULL)
        return weir_command_misuse(
            self->command, "the member whose data to pass is missing: it needs 'after'");
    if (ties->name != NULL)
        code = add_name(self, ties->name, end.member);
    weir_buf_append(&self->members, &member, sizeof member);
    if (code == WEIR_EXIT_DONE && ties->after != NULL)
        code = add_after(self, ties->after, end, ties->passes_data);
    if (code == WEIR_EXIT_DONE && ties->joined)
        code = weir_flow_plan_add_join(self, end, &ties->join);
    return code;
}

int weir_flow_plan_add_edge(struct weir_flow_plan *self, const char *from,
                            struct weir_plan_end to, bool passes_data)
{
    struct edge edge = {
        .from = from, .to = to, .passes_data = passes_data, .line = self->line};

    weir_buf_append(&self->edges, &edge, sizeof edge);
    return WEIR_EXIT_DONE;
}

int weir_flow_plan_add_join(struct weir_flow_plan *self, struct weir_plan_end to,
                            const struct weir_flow_join *join)
{
    struct join one = {.to = to, .join = *join, .line = self->line};

    weir_buf_append(&self->joins, &one, sizeof one);
    return WEIR_EXIT_DONE;
}

/* ---- JSON: fields ------------------------------------------------------------------ */

/* One object: a member, or an edge or a join. */
struct member_part {
    struct weir_drafting drafting;
    struct weir_plan_ties ties;
};
struct tie_part {
    const char *from;
    const char *to;
    struct weir_plan_ties ties;
};

static const struct weir_command_option MEMBER_FIELDS[] = {
    WEIR_PLAN_MEMBER_OPTIONS(struct member_part),
};
static const struct weir_command_option EDGE_FIELDS[] = {
    WEIR_OPTION(0, "from", "ID", NULL, WEIR_AS_TEXT(struct tie_part, from)),
    WEIR_OPTION(0, "to", "ID", NULL, WEIR_AS_TEXT(struct tie_part, to)),
    WEIR_PLAN_PASS_DATA_OPTION(struct tie_part, NULL),
};
static const struct weir_command_option JOIN_FIELDS[] = {
    WEIR_OPTION(0, "to", "ID", NULL, WEIR_AS_TEXT(struct tie_part, to)),
    WEIR_PLAN_JOIN_OPTIONS(struct tie_part, NULL),
};
static const struct weir_command_option LIST_FIELDS[] = {
    {.name = "members"},
    {.name = "edges"},
    {.name = "joins"},
};

/* The field of this name; NULL: it is not there, or null. */
static const struct weir_json_member *find_field(const struct weir_json_object *object,
                                                 const char *name)
{
    const struct weir_json_member *field = weir_json_find(object, name);

    return field == NULL || weir_json_kind(field->value) == WEIR_JSON_NULL ? NULL : field;
}

static int check_fields(const struct weir_flow_plan *self,
                        const struct weir_json_object *object,
                        const struct weir_command_option *fields, size_t count)
{
    char words[FIELDS_MAX][WEIR_OPTION_FIELD_SIZE];
    const char *names[FIELDS_MAX];
    const char *nearest;

    for (size_t i = 0; i < count; i++)
        names[i] = weir_option_field(&fields[i], words[i]);
    for (size_t i = 0; i < object->count; i++) {
        const char *field = object->members[i].name;
        size_t at = 0;

        while (at < count && strcmp(names[at], field) != 0)
            at++;
        if (at < count)
            continue;
        nearest = weir_nearest_find(field, names, count);
        return weir_command_misuse(self->command, "unknown field '%.64s'%s%s%s", field,
                                   nearest != NULL ? ", did you mean '" : "",
                                   nearest != NULL ? nearest : "",
                                   nearest != NULL ? "'?" : "");
    }
    return WEIR_EXIT_DONE;
}

static int read_object(struct weir_flow_plan *self, struct weir_str json,
                       struct weir_json_object *out);

static int check_kind(const struct weir_flow_plan *self,
                      const struct weir_json_member *field, char begin, const char *what)
{
    if (field->value.data[0] == begin)
        return WEIR_EXIT_DONE;
    return weir_command_misuse(self->command, "%s is '%.64s', must be %s", field->name,
                               field->text, what);
}

/* {"tenant.plan": "gold"}: a pair for each. */
static int take_pairs(struct weir_flow_plan *self, const struct weir_json_member *field,
                      const struct weir_command_option *option, void *part)
{
    struct weir_json_object pairs;
    int code = check_kind(self, field, '{', "an object: {\"tenant.plan\": \"gold\"}");

    if (code == WEIR_EXIT_DONE)
        code = read_object(self, field->value, &pairs);
    for (size_t i = 0; code == WEIR_EXIT_DONE && i < pairs.count; i++)
        code = weir_option_take_pair(option, self->command, pairs.members[i].name,
                                     pairs.members[i].text, part);
    return code;
}

/* The option once for each of a list. */
static int take_list(struct weir_flow_plan *self, const struct weir_json_member *field,
                     const struct weir_command_option *option, void *part)
{
    struct weir_json_walk walk;
    struct weir_json_item item;
    int code = check_kind(self, field, '[', "a list");

    weir_json_walk_begin(&walk, field->value);
    while (code == WEIR_EXIT_DONE && weir_json_walk_next(&walk, &item)) {
        char *text = weir_json_keep_text(item.value, &self->arena);

        code = text == NULL ? out_of_memory(self)
                            : weir_option_take(option, self->command, text, part);
    }
    return code;
}

/* What has commas on the command line may be a list here, and becomes that. */
static int take_joined(struct weir_flow_plan *self, const struct weir_json_member *field,
                       const struct weir_command_option *option, void *part)
{
    struct weir_json_walk walk;
    struct weir_json_item item;
    struct weir_buf joined;
    char *text = NULL;

    weir_buf_init(&joined, weir_heap_system(), LIST_SIZE_MAX);
    weir_json_walk_begin(&walk, field->value);
    while (weir_json_walk_next(&walk, &item)) {
        const char *word = weir_json_keep_text(item.value, &self->arena);

        if (joined.size > 0)
            weir_buf_append_text(&joined, ",");
        weir_buf_append_text(&joined, word != NULL ? word : "");
    }
    if (joined.size > 0)
        text = weir_arena_copy_text(&self->arena, weir_buf_text(&joined));
    weir_buf_fini(&joined);
    return text == NULL ? WEIR_EXIT_DONE
                        : weir_option_take(option, self->command, text, part);
}

static int take_field(struct weir_flow_plan *self, const struct weir_json_member *field,
                      const struct weir_command_option *option, void *part)
{
    bool list = field->value.data[0] == '[';

    if (weir_option_is_list(option))
        return option->value.type == WEIR_VALUE_PAIR
                   ? take_pairs(self, field, option, part)
                   : take_list(self, field, option, part);
    if (list && option->argument != NULL && strchr(option->argument, ',') != NULL)
        return take_joined(self, field, option, part);
    return weir_option_take_field(option, self->command, field->text, part);
}

/* Each field of the object is a row, which says where it goes. */
static int read_part(struct weir_flow_plan *self, const struct weir_json_object *object,
                     const struct weir_command_option *fields, size_t count, void *part)
{
    char name[WEIR_OPTION_FIELD_SIZE];
    int code = check_fields(self, object, fields, count);

    for (size_t i = 0; i < count && code == WEIR_EXIT_DONE; i++) {
        const struct weir_json_member *field =
            find_field(object, weir_option_field(&fields[i], name));

        if (field != NULL)
            code = take_field(self, field, &fields[i], part);
    }
    return code;
}

/* ---- JSON: members ----------------------------------------------------------------- */

static int read_member(struct weir_flow_plan *self, const struct weir_json_object *object)
{
    struct member_part *part = weir_arena_alloc(&self->arena, sizeof *part);
    struct weir_drafting *drafting;
    int code;

    if (part == NULL)
        return out_of_memory(self);
    drafting = &part->drafting;
    part->ties = (struct weir_plan_ties){.name = NULL};
    weir_drafting_init(drafting);
    code = read_part(self, object, MEMBER_FIELDS, COUNT_OF(MEMBER_FIELDS), part);
    if (code == WEIR_EXIT_DONE && drafting->input != NULL) {
        drafting->draft.input = drafting->input;
        drafting->draft.input_size = strlen(drafting->input);
    }
    if (code == WEIR_EXIT_DONE)
        code = weir_drafting_finish(drafting, self->command, self->partitions);
    return code == WEIR_EXIT_DONE ? weir_flow_plan_add_member(self, drafting, &part->ties)
                                  : code;
}

/* ---- JSON: edges, joins, lists of them --------------------------------------------- */

static int read_edge(struct weir_flow_plan *self, const struct weir_json_object *object)
{
    struct tie_part edge = {.from = NULL};
    int code = read_part(self, object, EDGE_FIELDS, COUNT_OF(EDGE_FIELDS), &edge);

    if (code == WEIR_EXIT_DONE && (edge.from == NULL || edge.to == NULL))
        code = weir_command_misuse(self->command, "an edge has no '%s'",
                                   edge.from == NULL ? "from" : "to");
    return code == WEIR_EXIT_DONE
               ? weir_flow_plan_add_edge(self, edge.from,
                                         (struct weir_plan_end){.word = edge.to},
                                         edge.ties.passes_data)
               : code;
}

static int read_join(struct weir_flow_plan *self, const struct weir_json_object *object)
{
    struct tie_part join = {.to = NULL};
    int code = read_part(self, object, JOIN_FIELDS, COUNT_OF(JOIN_FIELDS), &join);

    if (code == WEIR_EXIT_DONE && join.to == NULL)
        code = weir_command_misuse(self->command, "a join has no 'to'");
    return code == WEIR_EXIT_DONE
               ? weir_flow_plan_add_join(self, (struct weir_plan_end){.word = join.to},
                                         &join.ties.join)
               : code;
}

typedef int (*read_fn)(struct weir_flow_plan *self,
                       const struct weir_json_object *object);

static int read_list(struct weir_flow_plan *self, const struct weir_json_object *object,
                     const char *name, read_fn read)
{
    const struct weir_json_member *field = find_field(object, name);
    struct weir_json_walk walk;
    struct weir_json_item item;
    int code;

    if (field == NULL)
        return WEIR_EXIT_DONE;
    code = check_kind(self, field, '[', "a list");
    weir_json_walk_begin(&walk, field->value);
    for (size_t number = 1; code == WEIR_EXIT_DONE && weir_json_walk_next(&walk, &item);
         number++) {
        struct weir_json_object part;

        code = read_object(self, item.value, &part);
        if (code == WEIR_EXIT_DONE)
            code = read(self, &part);
        if (code != WEIR_EXIT_DONE && self->line == 0)
            weir_command_note(self->command, "that was number %zu of \"%s\"", number,
                              name);
    }
    return code;
}

static int read_lists(struct weir_flow_plan *self, const struct weir_json_object *object)
{
    int code = check_fields(self, object, LIST_FIELDS, COUNT_OF(LIST_FIELDS));

    if (code == WEIR_EXIT_DONE)
        code = read_list(self, object, "members", read_member);
    if (code == WEIR_EXIT_DONE)
        code = read_list(self, object, "edges", read_edge);
    return code == WEIR_EXIT_DONE ? read_list(self, object, "joins", read_join) : code;
}

/* ---- JSON -------------------------------------------------------------------------- */

static const struct weir_json_rules RULES = {
    .depth_max = DEPTH_MAX,
    .object = true,
    .allowed = WEIR_JSON_REPEATED_NAMES | WEIR_JSON_LONE_SURROGATES,
};

static int refuse(const struct weir_flow_plan *self, const struct weir_json_fault *fault)
{
    if (fault->not_utf8)
        return weir_command_misuse(self->command, "no JSON object: it is not UTF-8");
    return weir_command_misuse(self->command, "no JSON object: %s at byte %zu",
                               fault->why, fault->at);
}

static int read_object(struct weir_flow_plan *self, struct weir_str json,
                       struct weir_json_object *out)
{
    struct weir_json_fault fault;
    enum weir_status status =
        weir_json_read_object(json, &RULES, &self->arena, out, &fault);

    if (status == WEIR_INVALID)
        return refuse(self, &fault);
    return status == WEIR_OK ? WEIR_EXIT_DONE : out_of_memory(self);
}

static bool has_field(const struct weir_json_object *object, const char *name)
{
    return find_field(object, name) != NULL;
}

static int read_any(struct weir_flow_plan *self, struct weir_str json)
{
    struct weir_json_object object;
    int code = read_object(self, json, &object);

    if (code != WEIR_EXIT_DONE)
        return code;
    if (has_field(&object, "members") || has_field(&object, "edges") ||
        has_field(&object, "joins"))
        return read_lists(self, &object);
    if (has_field(&object, "from"))
        return read_edge(self, &object);
    return has_field(&object, "to") ? read_join(self, &object)
                                    : read_member(self, &object);
}

static bool is_blank(struct weir_str line)
{
    for (size_t i = 0; i < line.size; i++) {
        if (line.data[i] != ' ' && line.data[i] != '\t' && line.data[i] != '\r')
            return false;
    }
    return true;
}

/* Where a mistake is, if it is in a line. */
static int tell_line(const struct weir_flow_plan *self, int code, size_t line)
{
    if (code != WEIR_EXIT_DONE && line > 0)
        weir_command_note(self->command, "that was line %zu; nothing was added", line);
    return code;
}

static int read_lines(struct weir_flow_plan *self, struct weir_str text)
{
    int code = WEIR_EXIT_DONE;

    while (text.size > 0 && code == WEIR_EXIT_DONE) {
        const char *newline = memchr(text.data, '\n', text.size);
        struct weir_str line = text;

        line.size = newline != NULL ? (size_t)(newline - text.data) : text.size;
        text.data += line.size + (newline != NULL);
        text.size -= line.size + (newline != NULL);
        self->line++;
        if (!is_blank(line))
            code = read_any(self, line);
    }
    code = tell_line(self, code, self->line);
    self->line = 0;
    return code;
}

/* One object over all lines, if it is one. */
int weir_flow_plan_read(struct weir_flow_plan *self, struct weir_str text)
{
    if (weir_json_check(text, &RULES, NULL) == WEIR_OK)
        return read_any(self, text);
    return read_lines(self, text);
}

/* ---- settling ---------------------------------------------------------------------- */

static int find_end(const struct weir_flow_plan *self, struct weir_plan_end end,
                    struct weir_execution_id *out)
{
    uintptr_t found;

    if (end.word == NULL) {
        *out = member_at(self, end.member)->id;
        return WEIR_EXIT_DONE;
    }
    if (end.word[0] == '{' || weir_execution_id_parse(end.word, out, NULL) == WEIR_OK)
        return weir_execution_take_id(self->command, end.word, out);
    found = (uintptr_t)weir_map_find(&self->names, weir_str(end.word));
    if (found == 0)
        return weir_command_misuse(self->command,
                                   "no member is called '%s'; it is a name of this call, "
                                   "or the id of a member",
                                   end.word);
    *out = member_at(self, found - 1)->id;
    return WEIR_EXIT_DONE;
}

/* Of a member that has a key: the same for the same key, so that a call may be repeated
 * as a whole. It is the uuid of a name, RFC 4122 version 3, with the flow for the space
 * of names. */
static void name_uuid(const struct weir_flow_id *flow, const char *key,
                      uint8_t out[WEIR_UUID_SIZE])
{
    uint8_t name[WEIR_UUID_SIZE + WEIR_IDEMPOTENCY_KEY_SIZE_MAX];
    size_t size = strnlen(key, WEIR_IDEMPOTENCY_KEY_SIZE_MAX);

    memcpy(name, flow->uuid, WEIR_UUID_SIZE);
    memcpy(name + WEIR_UUID_SIZE, key, size);
    weir_md5(name, WEIR_UUID_SIZE + size, out);
    out[6] = (uint8_t)((out[6] & 0x0f) | 0x30);
    out[8] = (uint8_t)((out[8] & 0x3f) | 0x80);
}

static int settle_members(struct weir_flow_plan *self, struct weir_executions *executions,
                          const struct weir_flow_id *flow, const char *name_space)
{
    for (size_t i = 0; i < weir_flow_plan_member_count(self); i++) {
        struct weir_plan_member *member = member_at(self, i);

        weir_flow_mint(executions, flow, &member->id, 1);
        if (member->drafting->draft.idempotency_key != NULL)
            name_uuid(flow, member->drafting->draft.idempotency_key, member->id.uuid);
        if (member->drafting->draft.id != NULL)
            member->id = *member->drafting->draft.id;
        self->drafts[i] = member->drafting->draft;
        self->drafts[i].id = &member->id;
        self->drafts[i].name = member->name;
        if (self->drafts[i].name_space == NULL)
            self->drafts[i].name_space = name_space;
    }
    return WEIR_EXIT_DONE;
}

static int settle_edges(struct weir_flow_plan *self, size_t count)
{
    const struct edge *edges = (const struct edge *)(const void *)self->edges.data;
    int code = WEIR_EXIT_DONE;

    for (size_t i = 0; i < count && code == WEIR_EXIT_DONE; i++) {
        struct weir_plan_end from = {.word = edges[i].from};

        self->settled_edges[i].passes_data = edges[i].passes_data;
        code = find_end(self, from, &self->settled_edges[i].from);
        if (code == WEIR_EXIT_DONE)
            code = find_end(self, edges[i].to, &self->settled_edges[i].to);
        code = tell_line(self, code, edges[i].line);
    }
    return code;
}

static int settle_joins(struct weir_flow_plan *self, size_t count)
{
    const struct join *joins = (const struct join *)(const void *)self->joins.data;
    int code = WEIR_EXIT_DONE;

    for (size_t i = 0; i < count && code == WEIR_EXIT_DONE; i++) {
        self->settled_joins[i] = joins[i].join;
        code = find_end(self, joins[i].to, &self->settled_joins[i].to);
        code = tell_line(self, code, joins[i].line);
    }
    return code;
}

int weir_flow_plan_settle(struct weir_flow_plan *self, struct weir_executions *executions,
                          const struct weir_flow_id *flow, const char *name_space,
                          struct weir_flow_extension *out)
{
    size_t member_count = weir_flow_plan_member_count(self);
    size_t edge_count = self->edges.size / sizeof(struct edge);
    size_t join_count = self->joins.size / sizeof(struct join);
    int code;

    self->drafts =
        weir_arena_alloc(&self->arena, (member_count + 1) * sizeof *self->drafts);
    self->settled_edges =
        weir_arena_alloc(&self->arena, (edge_count + 1) * sizeof *self->settled_edges);
    self->settled_joins =
        weir_arena_alloc(&self->arena, (join_count + 1) * sizeof *self->settled_joins);
    if (self->drafts == NULL || self->settled_edges == NULL ||
        self->settled_joins == NULL || weir_buf_status(&self->members) != WEIR_OK ||
        weir_buf_status(&self->edges) != WEIR_OK ||
        weir_buf_status(&self->joins) != WEIR_OK)
        return out_of_memory(self);
    code = settle_members(self, executions, flow, name_space);
    if (code == WEIR_EXIT_DONE)
        code = settle_edges(self, edge_count);
    if (code == WEIR_EXIT_DONE)
        code = settle_joins(self, join_count);
    *out = (struct weir_flow_extension){.members = self->drafts,
                                        .member_count = member_count,
                                        .edges = self->settled_edges,
                                        .edge_count = edge_count,
                                        .joins = self->settled_joins,
                                        .join_count = join_count,
                                        .revision = -1};
    return code;
}

const char *weir_flow_plan_name_in(const struct weir_flow_plan *self, const char *text)
{
    char id[WEIR_EXECUTION_ID_TEXT_SIZE];

    for (size_t i = 0; i < weir_flow_plan_member_count(self); i++) {
        const struct weir_plan_member *member = member_at(self, i);

        if (member->name != NULL &&
            strstr(text, weir_execution_id_format(&member->id, id)) != NULL)
            return member->name;
    }
    return NULL;
}

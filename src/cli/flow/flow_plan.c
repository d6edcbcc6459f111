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
    WORD_SIZE = 32,
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
        return weir_command_misuse(self->command,
                                   "data of whom? to pass data needs 'after'");
    if (ties->name != NULL)
        code = add_name(self, ties->name, end.member);
    weir_buf_append(&self->members, &member, sizeof member);
    if (code == WEIR_EXIT_DONE && ties->after != NULL)
        code = add_after(self, ties->after, end, ties->passes_data);
    if (code == WEIR_EXIT_DONE && (ties->join != NULL || ties->cancel_remaining))
        code = weir_flow_plan_add_join(self, end, ties->join, ties->cancel_remaining);
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
                            const char *join, bool cancel_remaining)
{
    struct join one = {
        .to = to, .join = {.cancel_remaining = cancel_remaining}, .line = self->line};
    int code = join != NULL ? weir_flow_take_join(self->command, join, &one.join)
                            : WEIR_EXIT_DONE;

    weir_buf_append(&self->joins, &one, sizeof one);
    return code;
}

/* ---- JSON: fields ------------------------------------------------------------------ */

/* What a member has beside the options of a draft. */
static const char *const MEMBER_FIELDS[] = {
    "name",      "id",           "after", "join",    "cancel_remaining",
    "pass_data", "capabilities", "tags",  "budgets",
};
static const char *const EDGE_FIELDS[] = {"from", "to", "pass_data"};
static const char *const JOIN_FIELDS[] = {"to", "join", "cancel_remaining"};
static const char *const LIST_FIELDS[] = {"members", "edges", "joins"};

/* The field of this name; NULL: it is not there, or null. */
static const char *find_field(const struct weir_json_object *object, const char *name,
                              struct weir_str *value)
{
    const struct weir_json_member *member = weir_json_find(object, name);

    if (member == NULL)
        return NULL;
    if (value != NULL)
        *value = member->value;
    return weir_json_kind(member->value) != WEIR_JSON_NULL ? member->text : NULL;
}

static int take_flag(const struct weir_flow_plan *self,
                     const struct weir_json_object *object, const char *name, bool *out)
{
    const char *text = find_field(object, name, NULL);

    *out = text != NULL && strcmp(text, "true") == 0;
    if (text == NULL || *out || strcmp(text, "false") == 0)
        return WEIR_EXIT_DONE;
    return weir_command_misuse(self->command, "%s is '%.64s', must be true or false",
                               name, text);
}

static int tell_unknown(const struct weir_flow_plan *self, const char *field,
                        const char *const *names, size_t count)
{
    const char *nearest = weir_nearest_find(field, names, count);

    if (nearest != NULL)
        return weir_command_misuse(
            self->command, "unknown field '%.64s', did you mean '%s'?", field, nearest);
    return weir_command_misuse(self->command, "unknown field '%.64s'", field);
}

static int check_fields(const struct weir_flow_plan *self,
                        const struct weir_json_object *object, const char *const *names,
                        size_t count)
{
    for (size_t i = 0; i < object->count; i++) {
        size_t at = 0;

        while (at < count && strcmp(names[at], object->members[i].name) != 0)
            at++;
        if (at == count)
            return tell_unknown(self, object->members[i].name, names, count);
    }
    return WEIR_EXIT_DONE;
}

/* ---- JSON: members ----------------------------------------------------------------- */

/* "attempt-timeout" is called "attempt_timeout". */
static void spell_field(const char *option, char *out)
{
    weir_text_format(out, WORD_SIZE, "%s", option);
    for (char *at = out; *at != '\0'; at++)
        *at = *at == '-' ? '_' : *at;
}

static bool may_repeat(int id)
{
    return id == WEIR_DRAFTING_CAPABILITY || id == WEIR_DRAFTING_TAG ||
           id == WEIR_DRAFTING_BUDGET;
}

static int check_member_fields(const struct weir_flow_plan *self,
                               const struct weir_json_object *object)
{
    char words[FIELDS_MAX][WORD_SIZE];
    const char *names[FIELDS_MAX];
    size_t count = 0;

    for (; count < COUNT_OF(MEMBER_FIELDS); count++)
        names[count] = MEMBER_FIELDS[count];
    for (size_t i = 0; i < weir_drafting_option_count; i++) {
        if (may_repeat(weir_drafting_options[i].id))
            continue;
        spell_field(weir_drafting_options[i].name, words[i]);
        names[count++] = words[i];
    }
    return check_fields(self, object, names, count);
}

static int take_options(const struct weir_flow_plan *self,
                        const struct weir_json_object *object,
                        struct weir_drafting *drafting)
{
    int code = WEIR_EXIT_DONE;

    for (size_t i = 0; i < weir_drafting_option_count && code == WEIR_EXIT_DONE; i++) {
        const struct weir_command_option *option = &weir_drafting_options[i];
        char field[WORD_SIZE];
        const char *text;

        spell_field(option->name, field);
        text = may_repeat(option->id) ? NULL : find_field(object, field, NULL);
        if (text != NULL)
            code = weir_drafting_take(drafting, self->command, option->id, text);
    }
    return code;
}

/* A list of texts, one option for each; or one text. */
static int take_list(struct weir_flow_plan *self, const struct weir_json_object *object,
                     const char *field, struct weir_drafting *drafting, int id)
{
    struct weir_str list = {NULL, 0};
    struct weir_json_walk walk;
    struct weir_json_item item;
    const char *text = find_field(object, field, &list);
    int code = WEIR_EXIT_DONE;

    if (text == NULL)
        return WEIR_EXIT_DONE;
    if (list.data[0] != '[')
        return weir_command_misuse(self->command, "%s is '%.64s', must be a list", field,
                                   text);
    weir_json_walk_begin(&walk, list);
    while (code == WEIR_EXIT_DONE && weir_json_walk_next(&walk, &item)) {
        text = weir_json_keep_text(item.value, &self->arena);
        code = text == NULL ? out_of_memory(self)
                            : weir_drafting_take(drafting, self->command, id, text);
    }
    return code;
}

static int read_object(struct weir_flow_plan *self, struct weir_str json,
                       struct weir_json_object *out);

static int take_tags(struct weir_flow_plan *self, const struct weir_json_object *object,
                     struct weir_drafting *drafting)
{
    struct weir_str json = {NULL, 0};
    struct weir_json_object tags;
    const char *text = find_field(object, "tags", &json);
    int code;

    if (text == NULL)
        return WEIR_EXIT_DONE;
    if (json.data[0] != '{')
        return weir_command_misuse(
            self->command,
            "tags is '%.64s', must be an object: {\"tenant.plan\": \"gold\"}", text);
    code = read_object(self, json, &tags);
    if (code == WEIR_EXIT_DONE && tags.count > WEIR_TAGS_MAX)
        return weir_command_misuse(self->command, "more than %d tags", WEIR_TAGS_MAX);
    for (size_t i = 0; i < tags.count && code == WEIR_EXIT_DONE; i++)
        drafting->tags[drafting->draft.tag_count++] =
            (struct weir_tag){.key = tags.members[i].name, .value = tags.members[i].text};
    return code;
}

/* "after" is a list of names, or one text with commas, which is what becomes of it. */
static int take_after(struct weir_flow_plan *self, const struct weir_json_object *object,
                      const char **out)
{
    struct weir_str json = {NULL, 0};
    struct weir_json_walk walk;
    struct weir_json_item item;
    struct weir_buf joined;

    *out = find_field(object, "after", &json);
    if (*out == NULL || json.data[0] != '[')
        return WEIR_EXIT_DONE;
    weir_buf_init(&joined, weir_heap_system(), LIST_SIZE_MAX);
    weir_json_walk_begin(&walk, json);
    while (weir_json_walk_next(&walk, &item)) {
        const char *word = weir_json_keep_text(item.value, &self->arena);

        if (joined.size > 0)
            weir_buf_append_text(&joined, ",");
        weir_buf_append_text(&joined, word != NULL ? word : "");
    }
    *out = joined.size > 0 ? weir_arena_copy_text(&self->arena, weir_buf_text(&joined))
                           : NULL;
    weir_buf_fini(&joined);
    return WEIR_EXIT_DONE;
}

static int read_draft(struct weir_flow_plan *self, const struct weir_json_object *object,
                      struct weir_drafting *drafting)
{
    const char *id = find_field(object, "id", NULL);
    int code = take_options(self, object, drafting);

    if (code == WEIR_EXIT_DONE && id != NULL)
        code = weir_drafting_take(drafting, self->command, WEIR_DRAFTING_ID, id);
    if (code == WEIR_EXIT_DONE)
        code =
            take_list(self, object, "capabilities", drafting, WEIR_DRAFTING_CAPABILITY);
    if (code == WEIR_EXIT_DONE)
        code = take_list(self, object, "budgets", drafting, WEIR_DRAFTING_BUDGET);
    if (code == WEIR_EXIT_DONE)
        code = take_tags(self, object, drafting);
    if (code == WEIR_EXIT_DONE && drafting->input != NULL) {
        drafting->draft.input = drafting->input;
        drafting->draft.input_size = strlen(drafting->input);
    }
    return code == WEIR_EXIT_DONE
               ? weir_drafting_finish(drafting, self->command, self->partitions)
               : code;
}

static int read_member(struct weir_flow_plan *self, const struct weir_json_object *object)
{
    struct weir_drafting *drafting = weir_arena_alloc(&self->arena, sizeof *drafting);
    struct weir_plan_ties ties = {.name = find_field(object, "name", NULL),
                                  .join = find_field(object, "join", NULL)};
    int code = check_member_fields(self, object);

    if (drafting == NULL)
        return out_of_memory(self);
    weir_drafting_init(drafting);
    if (code == WEIR_EXIT_DONE)
        code = take_flag(self, object, "cancel_remaining", &ties.cancel_remaining);
    if (code == WEIR_EXIT_DONE)
        code = take_flag(self, object, "pass_data", &ties.passes_data);
    if (code == WEIR_EXIT_DONE)
        code = take_after(self, object, &ties.after);
    if (code == WEIR_EXIT_DONE)
        code = read_draft(self, object, drafting);
    return code == WEIR_EXIT_DONE ? weir_flow_plan_add_member(self, drafting, &ties)
                                  : code;
}

/* ---- JSON: edges, joins, lists of them --------------------------------------------- */

static int read_edge(struct weir_flow_plan *self, const struct weir_json_object *object)
{
    const char *from = find_field(object, "from", NULL);
    struct weir_plan_end to = {.word = find_field(object, "to", NULL)};
    bool passes_data = false;
    int code = check_fields(self, object, EDGE_FIELDS, COUNT_OF(EDGE_FIELDS));

    if (code == WEIR_EXIT_DONE && (from == NULL || to.word == NULL))
        code = weir_command_misuse(self->command, "an edge has no '%s'",
                                   from == NULL ? "from" : "to");
    if (code == WEIR_EXIT_DONE)
        code = take_flag(self, object, "pass_data", &passes_data);
    return code == WEIR_EXIT_DONE ? weir_flow_plan_add_edge(self, from, to, passes_data)
                                  : code;
}

static int read_join(struct weir_flow_plan *self, const struct weir_json_object *object)
{
    struct weir_plan_end to = {.word = find_field(object, "to", NULL)};
    bool cancel_remaining = false;
    int code = check_fields(self, object, JOIN_FIELDS, COUNT_OF(JOIN_FIELDS));

    if (code == WEIR_EXIT_DONE && to.word == NULL)
        code = weir_command_misuse(self->command, "a join has no 'to'");
    if (code == WEIR_EXIT_DONE)
        code = take_flag(self, object, "cancel_remaining", &cancel_remaining);
    return code == WEIR_EXIT_DONE
               ? weir_flow_plan_add_join(self, to, find_field(object, "join", NULL),
                                         cancel_remaining)
               : code;
}

typedef int (*read_fn)(struct weir_flow_plan *self,
                       const struct weir_json_object *object);

static int read_list(struct weir_flow_plan *self, const struct weir_json_object *object,
                     const char *name, read_fn read)
{
    struct weir_str json = {NULL, 0};
    struct weir_json_walk walk;
    struct weir_json_item item;
    const char *text = find_field(object, name, &json);
    int code = WEIR_EXIT_DONE;

    if (text != NULL && json.data[0] != '[')
        return weir_command_misuse(self->command, "%s is '%.64s', must be a list", name,
                                   text);
    if (text == NULL)
        return WEIR_EXIT_DONE;
    weir_json_walk_begin(&walk, json);
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
    return find_field(object, name, NULL) != NULL;
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

/*
 * command.c - the table of commands, and what is made of it.
 *
 * getopt_long() finds the options; it says nothing itself (opterr is 0), because its
 * words name neither the nearest option nor the next step.
 */
#include "cli/command.h"

#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/count.h"
#include "base/duration.h"
#include "base/literal/number.h"
#include "base/nearest.h"
#include "base/text.h"

enum {
    OPTIONS_MAX = 32,
    MEMBERS_MAX = 48,
    NAMESAKES_MAX = 3,
    LETTERS_END = 256,
    NUMBERED = 1024, /* getopt's value of a row without an id is this and its index */
};

#define DEFAULT_DB "sqlite:weir.db"

const struct weir_command *const weir_command_table[] = {
    &weir_cli_demo,      &weir_cli_migrate, &weir_cli_queue,  &weir_cli_enqueue,
    &weir_cli_relay,     &weir_cli_serve,   &weir_cli_status, &weir_cli_subscription,
    &weir_cli_dlq,       &weir_cli_submit,  &weir_cli_work,   &weir_cli_supervise,
    &weir_cli_execution, &weir_cli_flow,    &weir_cli_budget, &weir_cli_key,
    &weir_cli_token,     &weir_cli_audit,   &weir_cli_doctor, &weir_cli_bench,
    &weir_cli_help,      &weir_cli_version,
};
const size_t weir_command_count = COUNT_OF(weir_command_table);

const struct weir_command_option weir_command_shared_options[] = {
    WEIR_OPTION(0, "db", "URL", "the database; else WEIR_DB, else " DEFAULT_DB,
                WEIR_AS_TEXT(struct weir_command_shared, db)),
    WEIR_OPTION(0, "prefix", "P", "of the tables; else WEIR_PREFIX, else weir",
                WEIR_AS_TEXT(struct weir_command_shared, prefix)),
    WEIR_OPTION('j', "json", NULL, "print JSON",
                WEIR_AS_FLAG(struct weir_command_shared, json)),
    WEIR_OPTION('q', "quiet", NULL, "print only what was asked for",
                WEIR_AS_FLAG(struct weir_command_shared, quiet)),
};
const size_t weir_command_shared_count = COUNT_OF(weir_command_shared_options);

const struct weir_command_option weir_command_help_option = {
    .id = 'h',
    .name = "help",
    .summary = "show this help",
};

/* All options of a command in one row: its own, the shared ones, --help. */
struct option_list {
    const struct weir_command_option *options[OPTIONS_MAX];
    size_t count;
};

/* What getopt_long() wants, made from that. */
struct getopt_table {
    struct option longs[OPTIONS_MAX + 1];
    char letters[2 * OPTIONS_MAX + 3];
};

/* Commands whose last word is the same; the count goes on beyond the room. */
struct namesakes {
    const struct weir_command *commands[NAMESAKES_MAX];
    size_t count;
};

/* What the shared options have said; there is one command line. */
static struct weir_command_shared shared;
static const struct weir_command_option *shared_given; /* the first; NULL: none */

static struct option_list list_options(const struct weir_command *self);
static void fill_table(const struct weir_command *self, const struct option_list *list,
                       struct getopt_table *table);
static const struct weir_command_option *find_option(const struct option_list *list,
                                                     int value);
static bool take_shared(const struct weir_command *self,
                        const struct weir_command_option *option);
static int parse_options(const struct weir_command *self, int argc, char **argv,
                         void *state);
static void tell_unknown_option(const struct weir_command *self,
                                const struct option_list *list, char **argv);
static void print_options(const struct weir_command *self);
static void print_commands(const struct weir_command *const *commands, size_t count);

/* ---- finding and running ----------------------------------------------------------- */

const char *weir_command_word(const struct weir_command *self)
{
    const char *space = strrchr(self->name, ' ');

    return space != NULL ? space + 1 : self->name;
}

static void keep_namesake(const struct weir_command *command, const char *name,
                          struct namesakes *out)
{
    if (strcmp(weir_command_word(command), name) != 0)
        return;
    if (out->count < NAMESAKES_MAX)
        out->commands[out->count] = command;
    out->count++;
}

/* Where the word is a command all the same: `weir flow submit` is `weir submit`. A word
 * that many groups have ('list') says nothing about which one was meant. */
static bool tell_elsewhere(const char *name)
{
    struct namesakes found = {.count = 0};

    for (size_t i = 0; i < weir_command_count; i++) {
        const struct weir_command *command = weir_command_table[i];

        keep_namesake(command, name, &found);
        for (size_t j = 0; j < command->member_count; j++)
            keep_namesake(command->members[j], name, &found);
    }
    if (found.count == 0 || found.count > NAMESAKES_MAX)
        return false;
    for (size_t i = 0; i < found.count; i++)
        fprintf(stderr, "%s'weir %s'", i == 0 ? ", did you mean " : " or ",
                found.commands[i]->name);
    fprintf(stderr, "?");
    return true;
}

const struct weir_command *weir_command_find(const struct weir_command *group,
                                             const char *name)
{
    const struct weir_command *const *commands =
        group != NULL ? group->members : weir_command_table;
    size_t count = group != NULL ? group->member_count : weir_command_count;
    const char *space = group != NULL ? " " : "";
    const char *names[MEMBERS_MAX] = {NULL};
    const char *nearest;

    WEIR_ASSERT(count <= MEMBERS_MAX);
    for (size_t i = 0; i < count; i++) {
        names[i] = weir_command_word(commands[i]);
        if (strcmp(names[i], name) == 0)
            return commands[i];
    }

    nearest = weir_nearest_find(name, names, count);
    fprintf(stderr, "weir%s%s: unknown command '%s'", space,
            group != NULL ? group->name : "", name);
    if (nearest != NULL)
        fprintf(stderr, ", did you mean '%s'?", nearest);
    else if (tell_elsewhere(name))
        nearest = name;
    fprintf(stderr, "%s 'weir%s%s --help' lists all\n", nearest != NULL ? "" : ";", space,
            group != NULL ? group->name : "");
    return NULL;
}

static int run_member(const struct weir_command *group, int argc, char **argv)
{
    const struct weir_command *member;
    int code;

    optind = 0;                                    /* getopt starts anew */
    code = parse_options(group, argc, argv, NULL); /* shared ones only */
    if (code >= 0)
        return code;
    if (optind >= argc)
        return weir_command_misuse(group, "no command given, try 'weir %s'",
                                   group->members[0]->name);
    argc -= optind;
    argv += optind;
    member = weir_command_find(group, argv[0]);
    if (member == NULL)
        return WEIR_EXIT_MISUSE;
    optind = 0;
    return member->run(member, argc, argv);
}

int weir_command_dispatch(int argc, char **argv)
{
    const struct weir_command *command = weir_command_find(NULL, argv[0]);

    if (command == NULL)
        return WEIR_EXIT_MISUSE;
    if (command->members != NULL)
        return run_member(command, argc, argv);
    if (shared_given != NULL && !command->uses_db)
        return weir_command_misuse(command, "unknown option '--%s'", shared_given->name);
    optind = 0;
    return command->run(command, argc, argv);
}

/* ---- options ----------------------------------------------------------------------- */

static const char *environment(const char *name)
{
    const char *value = getenv(name);

    return value != NULL && value[0] != '\0' ? value : NULL;
}

struct weir_command_shared weir_command_shared(void)
{
    struct weir_command_shared found = shared;

    found.db_given = found.db != NULL;
    if (found.db == NULL)
        found.db = environment("WEIR_DB");
    if (found.db == NULL)
        found.db = DEFAULT_DB;
    if (found.prefix == NULL)
        found.prefix = environment("WEIR_PREFIX");
    return found;
}

/* What next_option() returns when there is none in *out. */
enum {
    OPTIONS_END = -1,     /* the operands begin at argv[optind] */
    OPTIONS_MISUSED = -2, /* the mistake was reported */
};

/* The next one that is the command's own, in *out: 0. */
static int next_option(const struct weir_command *self, int argc, char **argv,
                       const struct weir_command_option **out)
{
    struct option_list list = list_options(self);
    struct getopt_table table;
    int value;

    fill_table(self, &list, &table);
    opterr = 0;
    do {
        value = getopt_long(argc, argv, table.letters, table.longs, NULL);
        *out = find_option(&list, value == ':' || value == '?' ? optopt : value);
    } while (value != ':' && value != '?' && take_shared(self, *out));

    if (value == -1)
        return OPTIONS_END;
    if (value == ':' && *out != NULL)
        weir_command_misuse(self, "option '--%s' needs a value %s", (*out)->name,
                            (*out)->argument);
    else if (value == '?' && *out != NULL)
        weir_command_misuse(self, "option '--%s' takes no value", (*out)->name);
    else if (*out == NULL)
        tell_unknown_option(self, &list, argv);
    else
        return 0;
    return OPTIONS_MISUSED;
}

static bool take_shared(const struct weir_command *self,
                        const struct weir_command_option *option)
{
    const struct weir_command_option *first = weir_command_shared_options;

    if (!self->uses_db || option < first || option >= first + weir_command_shared_count)
        return false;
    if (shared_given == NULL)
        shared_given = option;
    return weir_option_take(option, self, optarg, &shared) == WEIR_EXIT_DONE;
}

static struct option_list list_options(const struct weir_command *self)
{
    struct option_list list = {.count = 0};

    WEIR_ASSERT(self->option_count + weir_command_shared_count < OPTIONS_MAX);
    for (size_t i = 0; i < self->option_count; i++)
        list.options[list.count++] = &self->options[i];
    for (size_t i = 0; i < weir_command_shared_count && self->uses_db; i++)
        list.options[list.count++] = &weir_command_shared_options[i];
    list.options[list.count++] = &weir_command_help_option;
    return list;
}

static bool has_letter(const struct weir_command_option *option)
{
    return option->id > 0 && option->id < LETTERS_END;
}

/* What getopt returns for this one. */
static int value_of(const struct option_list *list, size_t index)
{
    int id = list->options[index]->id;

    return id > 0 ? id : NUMBERED + (int)index;
}

/* The options of the program and of groups end where the command begins ('+'); those of a
 * command may stand anywhere. The colon makes getopt tell a missing value from an unknown
 * option. */
static void fill_table(const struct weir_command *self, const struct option_list *list,
                       struct getopt_table *table)
{
    char *letter = table->letters;

    if (self->name[0] == '\0' || self->members != NULL)
        *letter++ = '+';
    *letter++ = ':';
    for (size_t i = 0; i < list->count; i++) {
        const struct weir_command_option *option = list->options[i];

        table->longs[i] = (struct option){
            .name = option->name,
            .has_arg = option->argument != NULL ? required_argument : no_argument,
            .val = value_of(list, i),
        };
        if (!has_letter(option))
            continue;
        *letter++ = (char)option->id;
        if (option->argument != NULL)
            *letter++ = ':';
    }
    *letter = '\0';
    table->longs[list->count] = (struct option){.name = NULL};
}

static const struct weir_command_option *find_option(const struct option_list *list,
                                                     int value)
{
    for (size_t i = 0; i < list->count; i++) {
        if (value_of(list, i) == value)
            return list->options[i];
    }
    return NULL;
}

/* getopt leaves an unknown letter in `optopt`, and an unknown word behind `optind`. */
static void tell_unknown_option(const struct weir_command *self,
                                const struct option_list *list, char **argv)
{
    const char *names[OPTIONS_MAX];
    const char *nearest;
    char word[64];

    if (optopt != 0) {
        weir_command_misuse(self, "unknown option '-%c'", optopt);
        return;
    }
    for (size_t i = 0; i < list->count; i++)
        names[i] = list->options[i]->name;

    weir_text_format(word, sizeof word, "%s", argv[optind - 1] + strlen("--"));
    word[strcspn(word, "=")] = '\0';
    nearest = weir_nearest_find(word, names, list->count);
    if (nearest != NULL)
        weir_command_misuse(self, "unknown option '--%s', did you mean '--%s'?", word,
                            nearest);
    else
        weir_command_misuse(self, "unknown option '--%s'", word);
}

/* ---- into a struct ----------------------------------------------------------------- */

static void check_owner(const struct weir_command_option *rows, size_t count,
                        size_t state_size)
{
    for (size_t i = 0; i < count; i++)
        WEIR_ASSERT(rows[i].value.owner_size == state_size);
}

static int parse_options(const struct weir_command *self, int argc, char **argv,
                         void *state)
{
    const struct weir_command_option *option = NULL;
    int found, code;

    while ((found = next_option(self, argc, argv, &option)) == 0) {
        if (option == &weir_command_help_option) {
            weir_command_print_help(self);
            return WEIR_EXIT_DONE;
        }
        code = weir_option_take(option, self, optarg, state);
        if (code != WEIR_EXIT_DONE)
            return code;
        if (option->ends)
            return -1;
    }
    return found == OPTIONS_END ? -1 : WEIR_EXIT_MISUSE;
}

/* One word, or for a list all that are left. */
static int parse_operand(const struct weir_command *self,
                         const struct weir_command_option *operand, int argc, char **argv,
                         void *state)
{
    int code = WEIR_EXIT_DONE;

    if (optind >= argc && operand->optional)
        return WEIR_EXIT_DONE;
    if (optind >= argc && operand->missing != NULL)
        return weir_command_misuse(self, "%s", operand->missing);
    if (optind >= argc)
        return weir_command_misuse(self, "no %s given", operand->name);
    do
        code = weir_option_take(operand, self, argv[optind++], state);
    while (code == WEIR_EXIT_DONE && optind < argc && weir_option_is_list(operand));
    return code;
}

int weir_command_parse(const struct weir_command *self, int argc, char **argv,
                       void *state, size_t state_size)
{
    int code;

    check_owner(self->options, self->option_count, state_size);
    check_owner(self->operands, self->operand_count, state_size);
    code = parse_options(self, argc, argv, state);
    if (code >= 0)
        return code;
    code = WEIR_EXIT_DONE;
    for (size_t i = 0; i < self->operand_count && code == WEIR_EXIT_DONE; i++)
        code = parse_operand(self, &self->operands[i], argc, argv, state);
    if (code == WEIR_EXIT_DONE && !self->reads_operands)
        code = weir_command_no_operands(self, argc, argv);
    return code == WEIR_EXIT_DONE ? -1 : code;
}

/* ---- mistakes ---------------------------------------------------------------------- */

static void tell(const struct weir_command *self, const char *format, va_list arguments)
    WEIR_PRINTF(2, 0);

static void tell(const struct weir_command *self, const char *format, va_list arguments)
{
    fprintf(stderr, "weir%s%s: ", self->name[0] != '\0' ? " " : "", self->name);
    vfprintf(stderr, format, arguments);
}

int weir_command_misuse(const struct weir_command *self, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    tell(self, format, arguments);
    va_end(arguments);
    fprintf(stderr, "; see 'weir%s%s --help'\n", self->name[0] != '\0' ? " " : "",
            self->name);
    return WEIR_EXIT_MISUSE;
}

void weir_command_note(const struct weir_command *self, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    tell(self, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
}

int weir_command_fail(const struct weir_command *self, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    tell(self, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
    return WEIR_EXIT_FAILED;
}

int weir_command_no_operands(const struct weir_command *self, int argc, char **argv)
{
    if (optind >= argc)
        return WEIR_EXIT_DONE;
    return weir_command_misuse(self, "unexpected argument '%s'", argv[optind]);
}

int weir_command_number(const struct weir_command *self, const char *option,
                        const char *text, int64_t min, int64_t max, int64_t *out)
{
    if (weir_number_parse(text, out) && *out >= min && *out <= max)
        return WEIR_EXIT_DONE;
    return weir_command_misuse(self,
                               "--%s is '%s', must be a whole number from %lld to %lld",
                               option, text, (long long)min, (long long)max);
}

int weir_command_duration(const struct weir_command *self, const char *option,
                          const char *text, int64_t min_ns, int64_t max_ns, int64_t *out)
{
    char min[WEIR_DURATION_TEXT_SIZE];
    char max[WEIR_DURATION_TEXT_SIZE];

    if (weir_duration_parse(text, out) && *out >= min_ns && *out <= max_ns)
        return WEIR_EXIT_DONE;
    return weir_command_misuse(self,
                               "--%s is '%s', must be a duration from %s to %s, as in "
                               "500ms, 30s or 5min",
                               option, text, weir_duration_spell(min_ns, min, sizeof min),
                               weir_duration_spell(max_ns, max, sizeof max));
}

/* ---- help -------------------------------------------------------------------------- */

void weir_command_print_help(const struct weir_command *self)
{
    const char *space = self->name[0] != '\0' ? " " : "";

    printf("usage: weir%s%s %s\n\n%s\n", space, self->name, self->usage, self->details);
    if (self->name[0] == '\0')
        print_commands(weir_command_table, weir_command_count);
    else if (self->members != NULL)
        print_commands(self->members, self->member_count);
    print_options(self);
    if (self->name[0] == '\0')
        printf("\nexit codes: 0 done, 1 failed, 2 misuse\n");
    if (self->name[0] == '\0' || self->members != NULL)
        printf("\n'weir%s%s COMMAND --help' explains a command.\n", space, self->name);
}

static void print_commands(const struct weir_command *const *commands, size_t count)
{
    puts("commands:");
    for (size_t i = 0; i < count; i++)
        printf("  %-10s %s\n", weir_command_word(commands[i]), commands[i]->summary);
    putchar('\n');
}

static void format_option(const struct weir_command_option *option, char *out,
                          size_t size)
{
    weir_text_format(out, size, "--%s%s%s", option->name,
                     option->argument != NULL ? " " : "",
                     option->argument != NULL ? option->argument : "");
}

static void print_options(const struct weir_command *self)
{
    struct option_list list = list_options(self);
    int width = 16;
    char form[64];

    for (size_t i = 0; i < list.count; i++) {
        format_option(list.options[i], form, sizeof form);
        width = (int)strlen(form) > width ? (int)strlen(form) : width;
    }
    puts("options:");
    for (size_t i = 0; i < list.count; i++) {
        const struct weir_command_option *option = list.options[i];

        format_option(option, form, sizeof form);
        if (has_letter(option))
            printf("  -%c, %-*s %s\n", option->id, width, form, option->summary);
        else
            printf("      %-*s %s\n", width, form, option->summary);
    }
}

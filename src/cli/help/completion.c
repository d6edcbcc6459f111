/*
 * completion.c - the table of commands as a completion script for bash.
 *
 * The script finds the command among the words before the cursor, and then completes:
 * the value of the option before the cursor, an option, or an operand. Names of queues
 * are asked of the program itself (`weir queue list --quiet`), with the --db and
 * --prefix of the line.
 */
#include "cli/help/completion.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "cli/command.h"

enum { LETTERS_END = 256 };

static const char HEAD[] =
    "# bash completion for weir; made by `weir help --bash`.\n"
    "\n"
    "# The words of the line itself: bash has cut URLs at their colons.\n"
    "_weir_queues() {\n"
    "    local i line shared=()\n"
    "    read -ra line <<<\"$COMP_LINE\"\n"
    "    for ((i = 1; i < ${#line[@]}; i++)); do\n"
    "        case ${line[i]} in\n"
    "            --db=* | --prefix=*) shared+=(\"${line[i]}\") ;;\n"
    "            --db | --prefix) shared+=(\"${line[i]}\" \"${line[i + 1]}\") ;;\n"
    "        esac\n"
    "    done\n"
    "    \"${COMP_WORDS[0]}\" queue list --quiet \"${shared[@]}\" 2>/dev/null\n"
    "}\n"
    "\n"
    "_weir() {\n"
    "    local current=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]}\n"
    "    local command='' options='' words='' i\n"
    "    COMPREPLY=()\n"
    "    for ((i = 1; i < COMP_CWORD; i++)); do\n"
    "        case $command/${COMP_WORDS[i]} in\n";

static const char TAIL[] =
    "    case $words in\n"
    "        FILE) mapfile -t COMPREPLY < <(compgen -f -- \"$current\") ;;\n"
    "        *)\n"
    "            [ \"$words\" != QUEUE ] || words=$(_weir_queues)\n"
    "            [[ $current != -* ]] || words=$options\n"
    "            mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$current\")\n"
    "            ;;\n"
    "    esac\n"
    "}\n"
    "complete -F _weir weir\n";

/* `weir/queue/add`: how a command is called in the script; "/" between its words. */
static void print_path(const struct weir_command *command)
{
    for (const char *at = command->name; *at != '\0'; at++)
        putchar(*at == ' ' ? '/' : *at);
}

/* Each command under the one before it, NULL under none; what else stands there is
 * skipped. */
static void print_walk(const struct weir_command *const *commands, size_t count,
                       const struct weir_command *parent)
{
    for (size_t i = 0; i < count; i++) {
        printf("            ");
        if (parent != NULL)
            print_path(parent);
        printf("/%s) command=", weir_command_word(commands[i]));
        print_path(commands[i]);
        puts(" ;;");
        if (commands[i]->members != NULL)
            print_walk(commands[i]->members, commands[i]->member_count, commands[i]);
    }
}

static void print_option_names(const struct weir_command_option *options, size_t count)
{
    for (size_t i = 0; i < count; i++)
        printf("--%s ", options[i].name);
}

/* What may stand behind the name: words of its own, FILE, QUEUE or nothing. */
static void print_operands(const struct weir_command *command)
{
    if (command->members != NULL) {
        for (size_t i = 0; i < command->member_count; i++)
            printf("%s ", weir_command_word(command->members[i]));
    } else if (command == &weir_cli_help) {
        for (size_t i = 0; i < weir_command_count; i++)
            printf("%s ", weir_command_table[i]->name);
    } else if (strncmp(command->usage, "QUEUE", 5) == 0 ||
               strncmp(command->usage, "[QUEUE]", 7) == 0) {
        printf("QUEUE");
    }
}

static void print_command(const struct weir_command *command)
{
    printf("        ");
    print_path(command);
    printf(")\n            words='");
    print_operands(command);
    printf("'\n            options='");
    print_option_names(command->options, command->option_count);
    if (command->uses_db)
        print_option_names(weir_command_shared_options, weir_command_shared_count);
    puts("--help'\n            ;;");
    for (size_t i = 0; i < command->member_count; i++)
        print_command(command->members[i]);
}

/* Values of options: "keep|drop" are words, FILE and QUEUE are looked up, others are
 * not known. */
static void print_values(const struct weir_command *command)
{
    for (size_t i = 0; i < command->option_count; i++) {
        const struct weir_command_option *option = &command->options[i];

        if (option->argument == NULL)
            continue;
        printf("        ");
        print_path(command);
        printf("/--%s", option->name);
        if (option->id > 0 && option->id < LETTERS_END) {
            printf(" | ");
            print_path(command);
            printf("/-%c", option->id);
        }
        printf(") words='");
        for (const char *at = option->argument; *at != '\0'; at++) {
            if (strchr(option->argument, '|') == NULL)
                break;
            putchar(*at == '|' ? ' ' : *at);
        }
        if (strcmp(option->argument, "FILE") == 0 ||
            strcmp(option->argument, "QUEUE") == 0)
            printf("%s", option->argument);
        puts("' ;;");
    }
    for (size_t i = 0; i < command->member_count; i++)
        print_values(command->members[i]);
}

void weir_completion_print(void)
{
    fputs(HEAD, stdout);
    print_walk(weir_command_table, weir_command_count, NULL);
    puts("        esac\n"
         "    done\n"
         "    case $command in\n"
         "        '')");
    printf("            words='");
    for (size_t i = 0; i < weir_command_count; i++)
        printf("%s ", weir_command_table[i]->name);
    printf("'\n            options='");
    print_option_names(weir_cli_program.options, weir_cli_program.option_count);
    print_option_names(weir_command_shared_options, weir_command_shared_count);
    puts("--help'\n            ;;");
    for (size_t i = 0; i < weir_command_count; i++)
        print_command(weir_command_table[i]);
    puts("    esac\n"
         "    case $command/$before in\n"
         "        */--db | */--prefix) words='' ;;");
    for (size_t i = 0; i < weir_command_count; i++)
        print_values(weir_command_table[i]);
    puts("    esac");
    fputs(TAIL, stdout);
}

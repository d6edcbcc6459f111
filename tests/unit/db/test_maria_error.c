/* Tests of db/mariadb/error.c: codes and versions, without a server. */
#include "db/mariadb/error.h"

#include <string.h>

#include "kit/test.h"

WEIR_TEST(maria_error, decides_by_code)
{
    static const struct {
        unsigned code;
        enum weir_status status;
    } known[] = {
        {1062, WEIR_CONSTRAINT}, {1048, WEIR_CONSTRAINT}, {1451, WEIR_CONSTRAINT},
        {1452, WEIR_CONSTRAINT}, {1216, WEIR_CONSTRAINT}, {1217, WEIR_CONSTRAINT},
        {1364, WEIR_CONSTRAINT}, {1586, WEIR_CONSTRAINT}, {4025, WEIR_CONSTRAINT},
        {1213, WEIR_CONFLICT},   {1020, WEIR_CONFLICT},   {1205, WEIR_LOCKED},
        {1969, WEIR_TIMEOUT},    {1317, WEIR_FAILED},     {2002, WEIR_LOST},
        {2003, WEIR_LOST},       {2005, WEIR_LOST},       {2006, WEIR_LOST},
        {2013, WEIR_LOST},       {2014, WEIR_LOST},       {2055, WEIR_LOST},
        {1053, WEIR_LOST},       {1927, WEIR_LOST},       {1158, WEIR_LOST},
        {1159, WEIR_LOST},       {1160, WEIR_LOST},       {1161, WEIR_LOST},
        {1047, WEIR_LOST},       {1290, WEIR_LOST},       {1836, WEIR_LOST},
        {1040, WEIR_BUSY},       {1203, WEIR_BUSY},       {1226, WEIR_BUSY},
        {1461, WEIR_BUSY},       {1044, WEIR_DENIED},     {1045, WEIR_DENIED},
        {1142, WEIR_DENIED},     {1143, WEIR_DENIED},     {1227, WEIR_DENIED},
        {1370, WEIR_DENIED},     {1698, WEIR_DENIED},     {4151, WEIR_DENIED},
        {1049, WEIR_SCHEMA},     {1193, WEIR_SCHEMA},     {1665, WEIR_SCHEMA},
        {1021, WEIR_DISK_FULL},  {1026, WEIR_DISK_FULL},  {1114, WEIR_DISK_FULL},
        {20, WEIR_DISK_FULL},    {1406, WEIR_INVALID},    {1264, WEIR_INVALID},
        {1265, WEIR_INVALID},    {1366, WEIR_INVALID},    {1292, WEIR_INVALID},
        {1300, WEIR_INVALID},    {1153, WEIR_INVALID},    {2020, WEIR_INVALID},
        {2036, WEIR_INVALID},    {1792, WEIR_INVALID},    {2008, WEIR_NO_MEMORY},
        {1105, WEIR_FAILED},     {9999, WEIR_FAILED},
    };

    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        enum weir_status status = weir_maria_status(known[i].code, "HY000");

        if (status != known[i].status)
            weir_test_fail(__FILE__, __LINE__, "%u: got %s, want %s", known[i].code,
                           weir_status_name(status), weir_status_name(known[i].status));
    }
}

WEIR_TEST(maria_error, judges_an_unknown_code_by_its_class)
{
    check_status(weir_maria_status(1146, "42S02"), WEIR_SCHEMA);
    check_status(weir_maria_status(1064, "42000"), WEIR_SCHEMA);
    check_status(weir_maria_status(1644, "45000"), WEIR_CONSTRAINT);
    check_status(weir_maria_status(9999, "22003"), WEIR_INVALID);
    check_status(weir_maria_status(9999, "23000"), WEIR_CONSTRAINT);
    check_status(weir_maria_status(9999, "40001"), WEIR_CONFLICT);
    check_status(weir_maria_status(9999, "08S01"), WEIR_LOST);
    check_status(weir_maria_status(9999, ""), WEIR_FAILED);
}

WEIR_TEST(maria_error, knows_when_the_connection_is_gone)
{
    check(weir_maria_code_ends_connection(2013, "HY000"));
    check(weir_maria_code_ends_connection(1153, "08S01")); /* the server hangs up */
    check(!weir_maria_code_ends_connection(1213, "40001"));
    check(weir_maria_code_is_refusal(1290));
    check(!weir_maria_code_is_refusal(2013));
    check(weir_maria_code_is_clients(2057));
    check(weir_maria_code_is_clients(5003));
    check(!weir_maria_code_is_clients(1213));
    check(!weir_maria_code_is_clients(4025));
}

WEIR_TEST(maria_error, accepts_the_versions_that_have_what_is_needed)
{
    static const char *const VERSIONS[] = {
        "10.6.0-MariaDB",
        "10.11.6-MariaDB-0+deb12u1",
        "11.4.2-MariaDB-log",
        "12.1.2-MariaDB",
        "5.5.5-10.6.12-MariaDB-1:10.6.12+maria~deb11",
    };

    for (size_t i = 0; i < sizeof VERSIONS / sizeof VERSIONS[0]; i++)
        check_status(weir_maria_version_check(VERSIONS[i], NULL), WEIR_OK);
}

WEIR_TEST(maria_error, refuses_mysql_and_says_why)
{
    static const char *const VERSIONS[] = {"8.0.36", "8.4.0-log",
                                           "8.0.35-27 Percona Server", ""};
    struct weir_error error;

    for (size_t i = 0; i < sizeof VERSIONS / sizeof VERSIONS[0]; i++) {
        check_status(weir_maria_version_check(VERSIONS[i], &error), WEIR_SCHEMA);
        check(strstr(error.text, VERSIONS[i]) != NULL);
        check(strstr(error.text, "not MariaDB") != NULL);
        check(strstr(error.text, "has no sequences") != NULL);
        check(strstr(error.text, "MariaDB 10.6 or later") != NULL);
        check(strstr(error.text, "tested with 10.11") != NULL);
    }
}

WEIR_TEST(maria_error, refuses_a_mariadb_that_is_too_old)
{
    static const char *const VERSIONS[] = {"10.5.23-MariaDB", "5.5.68-MariaDB",
                                           "5.5.5-10.3.39-MariaDB", "MariaDB"};
    struct weir_error error;

    for (size_t i = 0; i < sizeof VERSIONS / sizeof VERSIONS[0]; i++) {
        check_status(weir_maria_version_check(VERSIONS[i], &error), WEIR_SCHEMA);
        check(strstr(error.text, "must be MariaDB 10.6 or later") != NULL);
    }
}

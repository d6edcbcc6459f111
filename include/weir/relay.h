/*
 * relay.h - a queue's messages to a place outside: a file, a program.
 *
 * A relay is a handler that is already written. It serves a subscription of an outbox
 * and gives each message to a sink, which is named by a URL:
 *
 *   stdout:                 one line of JSON per message on standard output
 *   file:PATH               the same at the end of a file, on disk before it is
 *                           acknowledged
 *   exec:COMMAND            a process per message: the line on standard input; exit
 *                           code 0 is done, 75 retry, 65 reject, anything else retry
 *   exec-stream:COMMAND     processes that live on: a line in, "ok", "retry REASON" or
 *                           "reject REASON" out
 *
 *   weir_relay_options_init(&options);
 *   options.queue = "orders";
 *   options.sink = "file:orders.jsonl";
 *   weir_relay_open(outbox, &options, &relay, &error);
 *   weir_outbox_start(outbox, &error);
 *   ...
 *   weir_outbox_stop(outbox, WEIR_SECONDS(10));
 *   weir_relay_close(relay);
 *   weir_outbox_destroy(outbox);
 *
 * Two relays with different names each get everything; with the same name, in two
 * processes, they share the partitions.
 *
 * Order    Per partition, as for any handler. A message comes again when its
 *          acknowledgement was lost; receivers de-duplicate by `id`.
 * Threads  Any thread; open and close one at a time.
 */
#ifndef WEIR_RELAY_H
#define WEIR_RELAY_H

#include <stdbool.h>
#include <stdint.h>

#include <weir/outbox.h>

struct weir_relay;

struct weir_relay_options {
    const char *queue;     /* must exist */
    const char *as;        /* the subscription; NULL: "default" */
    const char *sink;      /* URL */
    enum weir_start start; /* of a subscription that is new */
    uint32_t batch;        /* messages per delivery, up to 10,000; 0: the outbox's, for
                              processes 1: the time of a delivery is shared by its
                              messages */
    struct weir_lease_options lease;
    uint32_t permits;      /* deliveries at once; 0: as many as the process's handlers */
    int64_t stop_grace_ns; /* what a process of exec may still take when the outbox is
                              stopped, before it is killed; default 2 s */
    uint32_t permissions;  /* of a file that file: makes, 0600 to 0666; 0: 0600, its owner
                              alone. Those of a file that is there are not changed */
};

/* How the last delivery went: WEIR_OK, or why it failed or could not be acknowledged,
 * as on a full disk. Class STOP means that none will ever work again, as when the
 * reader of standard output has gone. */
struct weir_relay_health {
    enum weir_status status;
    char text[WEIR_ERROR_TEXT_SIZE];
};

WEIR_BEGIN_DECLS

WEIR_API void weir_relay_options_init(struct weir_relay_options *self);

/*
 * Open the sink and add it to the outbox, before weir_outbox_start(). Fails with
 * WEIR_INVALID (no such sink; the text names the nearest), as the operating system says
 * (a path that cannot be written), or as weir_outbox_add_handler(); *out is then NULL.
 * Borrows `outbox` until it is stopped; copies `options`.
 */
WEIR_CHECKED WEIR_API enum weir_status
weir_relay_open(struct weir_outbox *outbox, const struct weir_relay_options *options,
                struct weir_relay **out, struct weir_error *error);

/*
 * Close the sink. After weir_outbox_stop(), or before weir_outbox_start() if the outbox
 * will not be started. A delivery that weir_outbox_stop() had to leave behind is asked
 * to end, its process is killed, and the last one of them closes the sink. NULL is
 * fine.
 */
WEIR_API void weir_relay_close(struct weir_relay *self);

/*
 * Is nothing left for this subscription? *drained: every message that was committed
 * when it was asked is acknowledged, or among the dead letters. Asks the database, so
 * other processes of the same name count as well. Before weir_outbox_destroy().
 */
WEIR_CHECKED WEIR_API enum weir_status
weir_relay_read_drained(struct weir_relay *self, bool *drained, struct weir_error *error);

/* How many messages wait for it; *exact is false for an estimate, when they are many. */
WEIR_CHECKED WEIR_API enum weir_status weir_relay_read_waiting(struct weir_relay *self,
                                                               int64_t *waiting,
                                                               bool *exact,
                                                               struct weir_error *error);

/* Messages delivered or rejected by this relay, in this process, and stored as such;
 * how many of these were rejected; and of these, how many because they have failed as
 * often as the queue's attempts_max allows. Before weir_outbox_destroy(). */
WEIR_API uint64_t weir_relay_delivered(const struct weir_relay *self);
WEIR_API uint64_t weir_relay_rejected(const struct weir_relay *self);
WEIR_API uint64_t weir_relay_given_up(const struct weir_relay *self);

WEIR_API void weir_relay_read_health(struct weir_relay *self,
                                     struct weir_relay_health *out);

/* The sink's URL. */
WEIR_API const char *weir_relay_name(const struct weir_relay *self);

WEIR_END_DECLS

#endif

/*
 * draft.h - what may be submitted, and what two submissions have in common.
 *
 * Every rule gives a status and a text that names the field, the value and the limit.
 * Nothing is written before all drafts of a call have passed.
 */
#ifndef WEIR_EXECUTION_DRAFT_H
#define WEIR_EXECUTION_DRAFT_H

#include "base/md5.h"
#include "weir/execution.h"

enum { WEIR_DRAFT_DIGEST_SIZE = WEIR_MD5_SIZE };

/*
 * Id, namespace, lane, kind, name, input, policy, times, capabilities, tags,
 * idempotency key, in this order: WEIR_INVALID, or WEIR_TOO_LARGE for input,
 * capabilities, tags and key. A priority is clamped and never wrong. `partitions`: of
 * the engine, which the partition of a given id is below. Reads at most one byte beyond
 * the limit of a text.
 */
WEIR_CHECKED enum weir_status
weir_execution_draft_check(const struct weir_execution_draft *draft, uint32_t partitions,
                           struct weir_error *error);

/* All of them; the text begins with "draft 3 of 7: ". */
WEIR_CHECKED enum weir_status
weir_execution_drafts_check(const struct weir_execution_draft *drafts, size_t count,
                            uint32_t partitions, struct weir_error *error);

/* Its policy, or the defaults; its namespace, or "default". */
struct weir_execution_policy
weir_execution_draft_policy(const struct weir_execution_draft *draft);
const char *weir_execution_draft_namespace(const struct weir_execution_draft *draft);

/* From 0 to WEIR_PRIORITY_MAX. */
int32_t weir_priority_clamp(int32_t priority);

/* What its idempotency key, or its id, stands for: drafts with equal digests ask for
 * the same. The order of tags and capabilities, and whether defaults are spelled out,
 * makes no difference; key and namespace are what it is found by, and not in it. But an
 * id is found in any namespace: of a draft with an id the namespace is in it. Of a
 * draft that was checked. */
void weir_execution_draft_digest(const struct weir_execution_draft *draft,
                                 uint8_t out[WEIR_DRAFT_DIGEST_SIZE]);

/* Of a policy alone, with its field in the text: WEIR_INVALID. */
WEIR_CHECKED enum weir_status
weir_execution_policy_check(const struct weir_execution_policy *policy,
                            struct weir_error *error);

/* "tenant.plan": [a-z][a-z0-9_]* . [a-z0-9_][a-z0-9_.]*, up to WEIR_TAG_SIZE_MAX:
 * WEIR_INVALID. */
WEIR_CHECKED enum weir_status weir_tag_key_check(const char *key,
                                                 struct weir_error *error);

/* With its value, which is there: up to WEIR_TAG_SIZE_MAX bytes of UTF-8: WEIR_INVALID,
 * WEIR_TOO_LARGE. */
WEIR_CHECKED enum weir_status weir_tag_check(const char *key, const char *value,
                                             struct weir_error *error);

/* Of a member of a flow: 1 to WEIR_MEMBER_NAME_SIZE_MAX bytes of UTF-8 without comma
 * and control characters, not beginning with '{', and no id of an execution:
 * WEIR_INVALID, WEIR_TOO_LARGE. */
WEIR_CHECKED enum weir_status weir_member_name_check(const char *name,
                                                     struct weir_error *error);

/* One process: 1 to WEIR_INSTANCE_SIZE_MAX printable characters without blank:
 * WEIR_INVALID. */
WEIR_CHECKED enum weir_status weir_instance_check(const char *instance,
                                                  struct weir_error *error);

#endif

import { shortened } from '../../service/errors.ts';
import { redact } from '../../service/redact.ts';
import { secondTime } from './micro-time.ts';

/** A condition of a status: the shape of metav1.Condition. */
export interface Condition {
  readonly type: string;
  readonly status: 'True' | 'False' | 'Unknown';
  /** CamelCase, from a closed set. */
  readonly reason: string;
  /** A sentence for a person. */
  readonly message: string;
  /** When `status` last changed: RFC 3339, whole seconds. */
  readonly lastTransitionTime: string;
  readonly observedGeneration?: number;
}

/** A condition to be set: its time follows from the previous one. */
export type ConditionDraft = Omit<Condition, 'lastTransitionTime'>;

/** Long enough for people; the schema allows more, but not all conditions of an object could be that long. */
const maxMessageLength = 4096;

/**
 * The conditions with this one set. Its message is redacted, and cut at 4,096 characters. Its lastTransitionTime is kept unless the status
 * differs from the previous one.
 * Returns the same array if nothing differs.
 */
export function setCondition(
  conditions: readonly Condition[],
  { message, ...rest }: ConditionDraft,
  nowMs: number,
): readonly Condition[] {
  const draft = { ...rest, message: shortened(redact(message), maxMessageLength) };
  const former = findCondition(conditions, draft.type);
  if (former && isSameCondition(former, draft)) return conditions;
  const condition: Condition = {
    ...draft,
    lastTransitionTime:
      former?.status === draft.status ? former.lastTransitionTime : secondTime(nowMs),
  };
  return former
    ? conditions.map((each) => (each === former ? condition : each))
    : [...conditions, condition];
}

/** The conditions without this type. Returns the same array if it was not there. */
export function removeCondition(
  conditions: readonly Condition[],
  type: string,
): readonly Condition[] {
  return findCondition(conditions, type)
    ? conditions.filter((condition) => condition.type !== type)
    : conditions;
}

/**
 * The conditions rebuilt from drafts: those without a draft are dropped, and times are kept as in
 * {@link setCondition}. Returns the same array if nothing differs.
 */
export function replaceConditions(
  conditions: readonly Condition[],
  drafts: readonly ConditionDraft[],
  nowMs: number,
): readonly Condition[] {
  const kept = conditions.filter(({ type }) => drafts.some((draft) => draft.type === type));
  const start = kept.length === conditions.length ? conditions : kept;
  return drafts.reduce((all, draft) => setCondition(all, draft, nowMs), start);
}

/** The condition of this type, if there is one. */
export function findCondition(
  conditions: readonly Condition[] | undefined,
  type: string,
): Condition | undefined {
  return conditions?.find((condition) => condition.type === type);
}

/** Whether there is a condition of this type that is True. */
export function isConditionTrue(
  conditions: readonly Condition[] | undefined,
  type: string,
): boolean {
  return findCondition(conditions, type)?.status === 'True';
}

/** Equality except for the time. */
export function isSameCondition(one: ConditionDraft, other: ConditionDraft): boolean {
  return (
    one.type === other.type &&
    one.status === other.status &&
    one.reason === other.reason &&
    one.message === other.message &&
    one.observedGeneration === other.observedGeneration
  );
}

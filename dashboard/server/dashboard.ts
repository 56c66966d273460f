import type { IncomingMessage, ServerResponse } from 'node:http';
import { SyncError } from '../../service/errors.ts';
import type { Logger } from '../../service/logger.ts';
import { packageVersion } from '../../service/package-version.ts';
import { sleep } from '../../service/sleep.ts';
import type { Changes, PageInfo, PageScope, Snapshot, SyncReport } from '../api/messages.ts';
import type { SyncDetail, SyncRow, SyncSummary } from '../api/sync-view.ts';
import { ChangedParts, ChangeFeed } from '../feed/change-feed.ts';
import { History } from '../feed/history.ts';
import { EventStream } from './event-stream.ts';

/** The source of the dashboard's data. */
export interface DashboardSource {
  readonly page: () => PageScope;
  /** From memory: called every second. */
  readonly summaries: () => readonly SyncSummary[];
  /** Starts to observe one sync closely. */
  readonly look: (key: string) => SyncLook;
}

/** One sync under observation. */
export interface SyncLook {
  /** Undefined if there is no such sync. Called about every second; rejects only with the signal's reason. */
  readonly read: (signal: AbortSignal) => Promise<SyncDetail | undefined>;
}

const tickMs = 1_000;
/** Maximum number of open pages. */
const maxStreams = 64;

interface ListReader {
  readonly stream: EventStream;
  revision: number | undefined;
  page: PageInfo | undefined;
}

interface SyncReader {
  readonly stream: EventStream;
  readonly parts: ChangedParts<SyncReport>;
}

/** A sync that is shown, and its pages. */
interface Focus {
  readonly look: SyncLook;
  readonly readers: Set<SyncReader>;
  readonly stop: AbortController;
}

/** Reads all syncs every second, keeps their history, and sends open pages what has changed. */
export class Dashboard {
  readonly #source: DashboardSource;
  readonly #logger: Logger;
  readonly #now: () => number;
  readonly #facts: Omit<PageInfo, keyof PageScope>;
  readonly #feed = new ChangeFeed<SyncRow>(({ key }) => key);
  readonly #histories = new Map<string, History>();
  readonly #listReaders = new Set<ListReader>();
  readonly #focuses = new Map<string, Focus>();
  readonly #tasks = new Set<Promise<void>>();

  /** @param docsUrl - see {@link PageInfo}. */
  constructor(
    source: DashboardSource,
    logger: Logger,
    { docsUrl = null, now = Date.now }: { docsUrl?: string | null; now?: () => number } = {},
  ) {
    this.#source = source;
    this.#logger = logger;
    this.#now = now;
    this.#facts = { version: packageVersion(), docsUrl };
  }

  /** Works until the signal is aborted; then all streams are ended. */
  async run(signal: AbortSignal): Promise<void> {
    try {
      while (!signal.aborted) {
        this.tick();
        await sleep(tickMs, signal);
      }
    } catch (error) {
      if (!signal.aborted) throw error;
    } finally {
      const readers: { readonly stream: EventStream }[] = [...this.#listReaders];
      for (const focus of this.#focuses.values()) {
        focus.stop.abort(signal.reason);
        readers.push(...focus.readers);
      }
      const ends = readers.map(async ({ stream }) => {
        await stream.end();
      });
      await Promise.all([...ends, ...this.#tasks]);
    }
  }

  /** Reads all syncs once, and updates the pages. */
  tick(): void {
    const nowMs = this.#now();
    const summaries = this.#source.summaries();
    this.#feed.replace(summaries.map((summary) => this.#rowOf(summary, nowMs)));
    for (const key of this.#histories.keys()) {
      if (this.#feed.get(key) === undefined) this.#histories.delete(key);
    }
    for (const reader of this.#listReaders) this.#tell(reader, nowMs);
  }

  /** Sends all pages the current state, however recent their last update, so that they see changes just before the end, too. */
  async tellAll(signal: AbortSignal): Promise<void> {
    this.tick();
    await Promise.all(
      Array.from(this.#focuses, async ([key, focus]) => {
        await this.#tellFocus(key, focus, signal);
      }),
    );
  }

  snapshot(): Snapshot {
    return { page: this.#page(), syncs: this.#feed.items };
  }

  /** Everything about one sync. @throws SyncError NotFound. */
  async report(key: string, signal: AbortSignal): Promise<SyncReport> {
    const detail = this.#feed.get(key) && (await this.#source.look(key).read(signal));
    const report = detail && this.#reportOf(key, detail);
    if (!report) throw new SyncError('NotFound', 'there is no such sync');
    return report;
  }

  /** Sends all syncs, and then their changes. @throws SyncError TooManyStreams. */
  followAll(request: IncomingMessage, response: ServerResponse): void {
    this.#requireRoom();
    const nowMs = this.#now();
    const reader: ListReader = {
      stream: new EventStream(request, response, nowMs),
      revision: undefined,
      page: undefined,
    };
    this.#listReaders.add(reader);
    response.on('close', () => {
      this.#listReaders.delete(reader);
    });
    this.#tell(reader, nowMs);
  }

  /** Sends everything about one sync, and then its changes. @throws SyncError TooManyStreams, NotFound. */
  followOne(key: string, request: IncomingMessage, response: ServerResponse): void {
    if (this.#feed.get(key) === undefined) {
      throw new SyncError('NotFound', 'there is no such sync');
    }
    this.#requireRoom();
    const reader: SyncReader = {
      stream: new EventStream(request, response, this.#now()),
      parts: new ChangedParts(),
    };
    const focus = this.#focuses.get(key) ?? this.#focusOn(key);
    focus.readers.add(reader);
    response.on('close', () => {
      focus.readers.delete(reader);
      if (focus.readers.size > 0 || this.#focuses.get(key) !== focus) return;
      this.#focuses.delete(key);
      focus.stop.abort();
    });
  }

  #requireRoom(): void {
    const readers = [...this.#focuses.values()].map((focus) => focus.readers.size);
    const open = readers.reduce((sum, count) => sum + count, this.#listReaders.size);
    if (open >= maxStreams) {
      throw new SyncError('TooManyStreams', `${maxStreams} pages are open already`);
    }
  }

  #rowOf(reported: SyncSummary, nowMs: number): SyncRow {
    // From within the commit on, the oplog that is reported is that of the destination, for a reversal.
    const isOver = ['Committing', 'Committed'].includes(reported.phase);
    const summary = isOver ? { ...reported, oplogSeconds: null } : reported;
    const history = this.#histories.get(summary.key) ?? new History();
    this.#histories.set(summary.key, history);
    history.add(nowMs, summary);
    const { bytesPerSecond, eventsPerSecond } = history;
    return { ...summary, bytesPerSecond, eventsPerSecond };
  }

  #tell(reader: ListReader, nowMs: number): void {
    const { stream } = reader;
    if (!stream.isReady(nowMs)) return;
    const page = this.#page();
    const isOtherPage = JSON.stringify(page) !== JSON.stringify(reader.page);
    const news = this.#feed.news(isOtherPage ? undefined : reader.revision);
    if (!news) {
      stream.beat(nowMs);
      return;
    }
    reader.revision = news.revision;
    reader.page = page;
    if (news.kind === 'all') {
      stream.send('snapshot', { page, syncs: news.items } satisfies Snapshot, nowMs);
    } else {
      const { changed, removed } = news;
      stream.send('changes', { changed, removed } satisfies Changes, nowMs);
    }
  }

  #focusOn(key: string): Focus {
    const look = this.#source.look(key);
    const focus: Focus = { look, readers: new Set(), stop: new AbortController() };
    const { readers, stop } = focus;
    this.#focuses.set(key, focus);
    const task = this.#watch(key, focus)
      .catch((error: unknown) => {
        if (stop.signal.aborted) return;
        this.#logger.error({ err: error, sync: key }, 'reading a sync failed');
        for (const { stream } of readers) void stream.end();
      })
      .finally(() => {
        this.#tasks.delete(task);
      });
    this.#tasks.add(task);
    return focus;
  }

  async #watch(key: string, focus: Focus): Promise<void> {
    const { signal } = focus.stop;
    for (;;) {
      await this.#tellFocus(key, focus, signal);
      await sleep(tickMs, signal);
    }
  }

  async #tellFocus(key: string, { look, readers }: Focus, signal: AbortSignal): Promise<void> {
    const detail = await look.read(signal);
    const nowMs = this.#now();
    const report = detail && this.#reportOf(key, detail);
    for (const { stream, parts } of readers) {
      if (!stream.isReady(nowMs)) continue;
      const changed = report && parts.take(report);
      if (changed) stream.send('sync', changed, nowMs);
      else stream.beat(nowMs);
      if (report) continue;
      stream.send('gone', {}, nowMs);
      void stream.end();
    }
  }

  #reportOf(key: string, detail: SyncDetail): SyncReport | undefined {
    const row = this.#feed.get(key);
    const page = this.#page();
    return row && { ...detail, page, row, history: this.#histories.get(key)?.points ?? [] };
  }

  #page(): PageInfo {
    return { ...this.#source.page(), ...this.#facts };
  }
}

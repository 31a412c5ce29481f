// Tells when the content of files has changed, however that came about.
import { watch, realpathSync, type FSWatcher } from 'node:fs'
import { dirname } from 'node:path'
import { contentHash } from './read-files.ts'

/** An editor writes a file in several steps: what is read twice alike, so far apart, is whole. */
const SETTLE_MS = 100
/** For what no event tells: a file system of another machine, a symbolic link that points elsewhere. */
const POLL_MS = 5000

export interface FileWatch {
  close(): void
}

/**
 * Folders are watched, never the files: one that is replaced (a rename, the symbolic link of a Kubernetes ConfigMap) would be lost with
 * its inode. What counts is the content. `files` is asked again each time; relative paths are from the working folder.
 */
export function watchFiles(files: () => readonly string[], onChange: () => void, { pollMs = POLL_MS } = {}): FileWatch {
  const watch = new Watch(files, onChange)
  const poll = setInterval(() => watch.look(), pollMs).unref()
  return {
    close: () => {
      clearInterval(poll)
      watch.close()
    },
  }
}

class Watch {
  readonly #files: () => readonly string[]
  readonly #onChange: () => void
  readonly #folders = new Map<string, FSWatcher>()
  #told: string
  #seen: string
  #timer: NodeJS.Timeout | undefined

  constructor(files: () => readonly string[], onChange: () => void) {
    this.#files = files
    this.#onChange = onChange
    this.#told = contentHash(files())
    this.#seen = this.#told
    this.#watchFolders()
  }

  /** Something may have changed; what comes while a look is due is part of it. */
  look(): void {
    this.#timer ??= setTimeout(() => this.#compare(), SETTLE_MS).unref()
  }

  close(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    for (const watcher of this.#folders.values()) watcher.close()
    this.#folders.clear()
  }

  #compare(): void {
    this.#timer = undefined
    this.#watchFolders()
    const content = contentHash(this.#files())
    const settled = content === this.#seen
    this.#seen = content
    if (content === this.#told) return
    if (!settled) return this.look()
    this.#told = content
    this.#onChange()
  }

  #watchFolders(): void {
    const wanted = new Set(this.#files().flatMap(foldersOf))
    for (const [folder, watcher] of this.#folders) {
      if (wanted.has(folder)) continue
      watcher.close()
      this.#folders.delete(folder)
    }
    for (const folder of wanted) if (!this.#folders.has(folder)) this.#watchFolder(folder)
  }

  #watchFolder(folder: string): void {
    try {
      const watcher = watch(folder, { persistent: false }, () => this.look())
      // Gone: the poll finds it again.
      watcher.on('error', () => {
        watcher.close()
        this.#folders.delete(folder)
      })
      this.#folders.set(folder, watcher)
    } catch {
      // There is no such folder yet, or no room for one more watch: the poll looks.
    }
  }
}

/** Where its name stands, and where what it leads to lies. */
function foldersOf(file: string): string[] {
  try {
    return [dirname(file), dirname(realpathSync(file))]
  } catch {
    return [dirname(file)]
  }
}

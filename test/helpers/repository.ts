// The repository's own files, for tests that hold them to a promise.
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** Compiled, this file is build/test/helpers/repository.js. */
const root = fileURLToPath(new URL('../../../', import.meta.url))

export function readRepositoryFile(path: string): string {
  return readFileSync(join(root, path), 'utf8')
}

export function isInRepository(path: string): boolean {
  return existsSync(join(root, path))
}

/** Paths below the folder, with `/` between their parts. */
export function filesBelow(folder: string): string[] {
  return readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) =>
      join(entry.parentPath, entry.name)
        .slice(join(root, folder).length + 1)
        .replaceAll('\\', '/'),
    )
    .toSorted()
}

/** Where it is on this machine, for programs that are given a file. */
export function repositoryPath(path: string): string {
  return join(root, path)
}

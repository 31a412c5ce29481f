// Warns when the server's settings let it forget what it has confirmed.
import type { Connections } from './connections.ts'

const SETTINGS = {
  name: 'oncegate_settings',
  text: `SELECT current_setting('fsync') AS fsync, current_setting('synchronous_commit') AS commits`,
}

export async function warnOfForgetting(connections: Connections, prepared: Promise<void>, warn: (message: string) => void): Promise<void> {
  const [row] = await connections.run<{ fsync: string; commits: string }>('settings', SETTINGS, [], prepared)
  if (row?.fsync === 'off') warn('PostgreSQL may lose everything in a power cut (fsync is off), and what is lost can be executed again')
  if (row?.commits === 'off') {
    warn('PostgreSQL confirms claims before they are on disk (synchronous_commit is off): those lost in a crash can be executed again')
  }
}

// A door that is opened from a device nobody signed in on: known by its id or else by its address and program, within seconds.
import type { Asked } from '../identifier.ts'
import { json, type Kind } from './kind.ts'

const TIME = Date.UTC(2024, 4, 20, 4, 0, 30)
const open = (door: string, at: number | string, ...headers: string[]): Asked => json('/doors/open', { door, clicked_at: at }, ...headers)
const DEVICE = ['X-Device-Id', 'd-1', 'User-Agent', 'app/1']

export const doorOpening: Kind = {
  name: 'door opened from a device',
  rules: `
rules:
  - name: open-door
    match: { path: /doors/open }
    owner: none
    fingerprint:
      door: { from: body.door, apply: [trim, upper, { map: { MAIN: A1, 大门: A1 } }] }
      device:
        from:
          - { select: header.x-device-id, trust: 0.9 }
          - { all: [ip, header.user-agent], trust: 0.3 }
          - { select: ip, trust: 0.1 }
        minTrust: 0.3
      clicked: { from: body.clicked_at, apply: [{ window: 10s }] }
`,
  facts: [
    {
      request: open('A1', TIME, ...DEVICE),
      same: {
        'two seconds later': open('A1', TIME + 2000, ...DEVICE),
        'a second before, across the edge': open('A1', TIME - 1000, ...DEVICE),
        'the time in seconds': open('A1', TIME / 1000, ...DEVICE),
        'the time as a text': open('A1', String(TIME), ...DEVICE),
        'the time in RFC 3339': open('A1', '2024-05-20T04:00:30Z', ...DEVICE),
        'the time with an offset': open('A1', '2024-05-20T12:00:31.5+08:00', ...DEVICE),
        'the door in small letters': open(' a1', TIME, ...DEVICE),
        'the door by its name': open('Main', TIME, ...DEVICE),
        'the door by its Chinese name': open('大门', TIME, ...DEVICE),
        'another program on the device, from another address': {
          ...open('A1', TIME, 'X-Device-Id', 'd-1', 'User-Agent', 'app/2'),
          ip: '198.51.100.7',
        },
        'received a minute later': { ...open('A1', TIME, ...DEVICE), receivedAt: TIME + 60_000 },
      },
      different: {
        'ten seconds later': open('A1', TIME + 10_000, ...DEVICE),
        'a minute before': open('A1', TIME - 60_000, ...DEVICE),
        'another door': open('A2', TIME, ...DEVICE),
        'another device': open('A1', TIME, 'X-Device-Id', 'd-2', 'User-Agent', 'app/1'),
        'a device without an id': open('A1', TIME, 'User-Agent', 'app/1'),
      },
    },
    {
      request: open('A1', TIME, 'User-Agent', 'app/1'),
      same: { 'the same address and program, a second later': open('A1', TIME + 1000, 'User-Agent', 'app/1') },
      different: {
        'another program': open('A1', TIME, 'User-Agent', 'app/2'),
        'another address': { ...open('A1', TIME, 'User-Agent', 'app/1'), ip: '198.51.100.7' },
        'an id that says what the address and program say': open('A1', TIME, 'X-Device-Id', '192.0.2.1app/1'),
      },
    },
  ],
}

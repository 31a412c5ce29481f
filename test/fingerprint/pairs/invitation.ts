// An invitation by mail: addresses of people and pages in their spellings, addressees without their order.
import { json, text, type Kind } from './kind.ts'

const USER = ['X-Api-User', 'ops']
const invitation = {
  to: ['ann@example.com', 'bob@example.com'],
  subject: 'Café meeting',
  link: 'https://example.com/join?room=7',
  template: 'invite',
}
const send = (changes: object, ...headers: string[]) => json('/mails', { ...invitation, ...changes }, ...USER, ...headers)

export const invitationByMail: Kind = {
  name: 'invitation by mail',
  rules: `
rules:
  - name: send-mail
    match: { path: /mails, where: { body.template: [invite, remind] } }
    owner: header.x-api-user
    fingerprint:
      to: { from: 'body.to[*]', apply: [email, set] }
      subject: { from: body.subject, apply: [nfc, trim] }
      link: { from: body.link, apply: [url] }
      template: body.template
      language: { from: [body.language, header.accept-language], apply: [lower, { regex: '^([a-z]+)' }], default: en }
`,
  facts: [
    {
      request: json('/mails', invitation, ...USER),
      same: {
        'addressees in another order': send({ to: ['bob@example.com', 'ann@example.com'] }),
        'an addressee said twice': send({ to: ['ann@example.com', 'bob@example.com', 'ANN@example.com'] }),
        'addresses in capitals, with blanks': send({ to: ['Ann@Example.COM', ' bob@example.com '] }),
        'the subject composed otherwise': send({ subject: 'Cafe\u0301 meeting' }),
        'the subject with a blank': send({ subject: 'Café meeting ' }),
        'the host in capitals, with its port': send({ link: 'HTTPS://Example.com:443/join?room=7' }),
        'a fragment in the link': send({ link: 'https://example.com/join?room=7#top' }),
        'needless escapes in the link': send({ link: 'https://example.com/%6Aoin?room=7' }),
        'the language said': send({ language: 'EN-gb' }),
        'the language of the device': send({}, 'Accept-Language', 'en-US,en;q=0.9'),
        'another message id': send({ message_id: '<2@host>', headers: { 'X-Trace': '2' } }, 'User-Agent', 'mailer/2'),
        'other field order': text('/mails', JSON.stringify(Object.fromEntries(Object.entries(invitation).toReversed()), null, 2), ...USER),
      },
      different: {
        'another addressee': send({ to: ['ann@example.com', 'bert@example.com'] }),
        'one addressee less': send({ to: ['ann@example.com'] }),
        'a mailbox with a tag': send({ to: ['ann+x@example.com', 'bob@example.com'] }),
        'the subject without its accent': send({ subject: 'Cafe meeting' }),
        'another room in the link': send({ link: 'https://example.com/join?room=8' }),
        'without encryption': send({ link: 'http://example.com/join?room=7' }),
        'another path by its capitals': send({ link: 'https://example.com/Join?room=7' }),
        'a reminder': send({ template: 'remind' }),
        'in French': send({ language: 'fr' }),
        'by another user': json('/mails', invitation, 'X-Api-User', 'dev'),
      },
    },
  ],
  passing: [json('/mails', { ...invitation, template: 'news' }, ...USER), json('/mails', invitation)],
}

// A photo that is put into an album: the bytes count, not the file's name nor how the form was cut into parts.
import { ANNA, BERT, form, multipart, type FormPart, type Kind } from './kind.ts'

const ALBUM = '/albums/7/photos'
const PNG = 'PNG\r\n\u001a\n\u0000--data--'
const photo = (more: Partial<FormPart> = {}): FormPart => ({ name: 'photo', value: PNG, fileName: 'a.png', type: 'image/png', ...more })
const caption = (value: string): FormPart => ({ name: 'caption', value })
const upload = (...parts: FormPart[]) => multipart(ALBUM, 'b1', parts, ...ANNA)

export const photoUpload: Kind = {
  name: 'photo put into an album',
  rules: `
rules:
  - name: add-photo
    match: { path: /albums/:album/photos }
    fingerprint:
      photo: body.photo.sha256
      caption: { from: body.caption, apply: [nfc, collapseSpace], default: '' }
    digest: [query]
`,
  facts: [
    {
      request: upload(photo(), caption('At the sea')),
      same: {
        'another boundary': multipart(ALBUM, '----WebKitFormBoundaryXyZ', [photo(), caption('At the sea')], ...ANNA),
        'another file name': upload(photo({ fileName: 'IMG 0001 (copy).PNG' }), caption('At the sea')),
        'a file name in Chinese': upload(photo({ fileName: '照片.png' }), caption('At the sea')),
        'another order of the parts': upload(caption('At the sea'), photo()),
        'another type named for the file': upload(photo({ type: 'application/octet-stream' }), caption('At the sea')),
        'the caption with a type of its own': upload(photo(), { ...caption('At the sea'), type: 'text/plain; charset=utf-8' }),
        'the caption on two lines': upload(photo(), caption('At  the\r\nsea')),
        'the device and the time of the upload': upload(photo(), caption('At the sea'), { name: 'device', value: 'phone' }),
        'a slash at the end': { ...upload(photo(), caption('At the sea')), url: `${ALBUM}/` },
      },
      conflict: { 'with a flag in the query': { ...upload(photo(), caption('At the sea')), url: `${ALBUM}?public=1` } },
      different: {
        'one byte changed': upload(photo({ value: PNG.replace('d', 'D') }), caption('At the sea')),
        'one byte less': upload(photo({ value: PNG.slice(0, -1) }), caption('At the sea')),
        'another caption': upload(photo(), caption('At the lake')),
        'no caption': upload(photo()),
        'another album': { ...upload(photo(), caption('At the sea')), url: '/albums/8/photos' },
        'by somebody else': multipart(ALBUM, 'b1', [photo(), caption('At the sea')], ...BERT),
      },
    },
    {
      request: upload(photo()),
      same: { 'an empty caption': upload(photo(), caption(' ')) },
      different: { 'the word for it': upload(photo(), caption('null')) },
    },
  ],
  passing: [form('/albums/7', 'name=x', ...ANNA)],
}

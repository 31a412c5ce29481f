// A form behind a button: who, where and what was filled in, not the page's own machinery.
import { form, json, multipart, type Kind } from './kind.ts'

const SESSION = ['Cookie', 'session=s1; seen=1']
const ORDER = '/actions/order'
const filled = 'item=1&size=XL&note=please+hurry'

export const buttonClick: Kind = {
  name: 'click on a button (form)',
  preset: 'button-click',
  facts: [
    {
      request: form(ORDER, `${filled}&_csrf=a`, ...SESSION),
      same: {
        'clicked twice': form(ORDER, `${filled}&_csrf=a`, ...SESSION),
        'another token against forgery': form(ORDER, `_csrf=b&${filled}`, ...SESSION),
        'another time stamp and nonce': form(ORDER, `${filled}&timestamp=2&nonce=n2&_t=3`, ...SESSION),
        'another place on the image': form(ORDER, `${filled}&x=17&y=4`, ...SESSION),
        'other field order': form(ORDER, 'note=please+hurry&size=XL&item=1', ...SESSION),
        'other escapes': form(ORDER, 'item=%31&size=%58L&note=please%20hurry', ...SESSION),
        'more cookies, in another order': form(ORDER, filled, 'Cookie', 'seen=2; theme=dark; session=s1'),
        'cookies on two lines': form(ORDER, filled, 'Cookie', 'seen=2', 'Cookie', 'session=s1'),
        'as a multipart form': multipart(
          ORDER,
          '----WebKitFormBoundaryA1',
          [
            { name: 'size', value: 'XL' },
            { name: 'item', value: '1' },
            { name: 'note', value: 'please hurry' },
          ],
          ...SESSION,
        ),
        "by the page's script, as JSON": json(ORDER, { note: 'please hurry', item: '1', size: 'XL', nonce: 4 }, ...SESSION),
      },
      different: {
        'another item': form(ORDER, filled.replace('item=1', 'item=2'), ...SESSION),
        'another size': form(ORDER, filled.replace('XL', 'xl'), ...SESSION),
        'a plus in the note': form(ORDER, filled.replace('please+', 'please%2B'), ...SESSION),
        'a field that is empty': form(ORDER, `${filled}&coupon=`, ...SESSION),
        'an item twice': form(ORDER, `${filled}&item=1`, ...SESSION),
        'another button': form('/actions/cancel', filled, ...SESSION),
        'another session': form(ORDER, filled, 'Cookie', 'session=s2; seen=1'),
        'a cookie that only ends like it': form(ORDER, filled, 'Cookie', 'session=s11'),
      },
    },
    {
      request: form('/actions/likes/7', '_csrf=a', ...SESSION),
      same: { 'with another token': form('/actions/likes/7', '_csrf=z', 'Cookie', 'session=s1') },
      different: { 'another one': form('/actions/likes/8', '_csrf=a', ...SESSION) },
    },
  ],
  passing: [form(ORDER, filled), { url: ORDER, method: 'GET', headers: SESSION }],
}

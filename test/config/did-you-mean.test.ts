// Advice is given for slips, not for other words.
import t from 'tap'
import { didYouMean, editDistance } from '../../src/config/did-you-mean.ts'

const KEYS = ['onDisconnect', 'lease', 'ttl', 'timeout', 'storeTimeout']

t.equal(didYouMean('onDisconect', KEYS), 'did you mean "onDisconnect"?', 'a letter left out')
t.equal(didYouMean('ondissconect', KEYS), 'did you mean "onDisconnect"?', 'three slips in a long word')
t.equal(didYouMean('laese', KEYS), 'did you mean "lease"?', 'neighbours swapped')
t.equal(didYouMean('TTL', KEYS), 'did you mean "ttl"?', 'another case')
t.equal(didYouMean('tll', KEYS), 'did you mean "ttl"?', 'one slip in a short word')
t.equal(didYouMean('timeuot', KEYS), 'did you mean "timeout"?', 'the nearest of several')
t.equal(didYouMean('colour', KEYS), undefined, 'another word')
t.equal(didYouMean('x', KEYS), undefined)
t.equal(editDistance('', 'abc'), 3)
t.equal(editDistance('kitten', 'sitting'), 3)

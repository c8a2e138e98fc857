import { expect, test } from 'vitest'
import { toSkeleton } from './skeleton.ts'

const skeletonOf = (text: string): string =>
  Array.from(text, (char) => toSkeleton(char.codePointAt(0) ?? 0)).join('')

/** Each row: what they look like, and all that look like it. */
test.each([
  ['<', '<‹˂ᐸ≺⋖⟨〈〈⧼❮❰❬⦑﹤＜◁◂◃◄'],
  ['>', '>›˃ᐳ≻⋗⟩〉〉⧽❯❱❭⦒﹥＞▷▸▹►'],
  ['[', '[［【〔〖〘〚⟦⁅⟬❲⦋⦍⦏⎡⎢⎣｢「『﹝﹇⌈⌊⸢⸤⧘⧚'],
  [']', ']］】〕〗〙〛⟧⁆⟭❳⦌⦎⦐⎤⎥⎦｣」』﹞﹈⌉⌋⸣⸥⧙⧛'],
  ['/', '/／⁄∕⧸╱⟋⼃㇓〳⫽⫻ノ丿⧶'],
  [':', ':：﹕︓∶꞉ː˸։׃܃܄⁚᛬︰᠃᠉⁝'],
  ['"', '"“”„‟″‶〃＂ˮ״'],
  ['_', '_＿ˍߺ﹍﹎﹏'],
  ['-', '-‐‑‒–—―−﹘﹣－⁃˗۔➖⸺⸻'],
  ['a', 'aAаАαΑɑᴀ∂⍺ａＡ𝐚𝒜áÄå'],
  ['b', 'bBьвВʙᏏƅｂ𝐛'],
  ['c', 'cCсСϲᴄ𐐽ҫｃç'],
  ['d', 'dDԁᴅɗꓒժｄ'],
  ['e', 'eEеЕεҽєᴇ℮ꬲｅéÊ'],
  ['f', 'fFғꞙϝẝքｆ'],
  ['g', 'gGɡցɢԍᶃｇ'],
  ['i', 'iIlL1|іІιɪıӏǀꭵʟℓⵏｉ１١१'],
  ['k', 'kKкКκᴋⱪĸｋ'],
  ['m', 'mMмМᴍʍｍ'],
  ['n', 'nNпηɴռոｎñ'],
  ['o', 'oO0оОοΟᴏσօ०૦໐ഠｏ０٠ö'],
  ['p', 'pPрРρᴘϱⲣｐ'],
  ['r', 'rRгʀᴦꭇꮁɼｒ'],
  ['s', 'sSѕЅꜱʂտｓš'],
  ['t', 'tTтТτᴛ⊤ƭｔ'],
  ['u', 'uUυսᴜʋｕü'],
  ['v', 'vVѵνᴠ∨ｖ'],
  ['y', 'yYуУүγʏყｙÿ'],
])('everything that looks like %s has it as its skeleton', (plain, alike) => {
  expect(Array.from(alike).filter((char) => skeletonOf(char) !== plain)).toEqual([])
})

test('what looks like no other is itself, in small letters', () => {
  expect(skeletonOf('hjqwxzHJQWXZ')).toBe('hjqwxzhjqwxz')
  expect(skeletonOf('!#$%&()*+,.;=?@{}~^`')).toBe('!#$%&()*+,.;=?@{}~^`')
})

test('digits of every script are digits, but for those that look like letters', () => {
  expect(skeletonOf('0123456789')).toBe('oi23456789')
  expect(skeletonOf('٠١٢٣٤٥٦٧٨٩')).toBe('oi23456789')
  expect(skeletonOf('𝟎𝟏𝟐𝟑𝟒𝟓𝟔𝟕𝟖𝟗𝟘𝟙𝟚')).toBe('oi23456789oi2')
})

test('every break of a line is one, and every other blank is a blank', () => {
  expect(skeletonOf('\n\r\v\f\u0085\u2028\u2029\u001c\u001d\u001e')).toBe('\n'.repeat(10))
  expect(skeletonOf(' \t\u00a0\u1680\u2003\u202f\u3000\u2800')).toBe(' '.repeat(8))
})

test.each([
  ['a zero-width space', '\u200b'],
  ['a joiner', '\u200d'],
  ['a soft hyphen', '\u00ad'],
  ['a turn of the direction', '\u202e'],
  ['a control', '\u0007'],
  ['a mark on a letter', '\u0301'],
  ['a selector', '\ufe0f'],
  ['private use', '\ue000'],
  ['half of a pair', '\ud800'],
  ['a tag', '\u{e0041}'],
])('%s is not seen', (_what, char) => {
  expect(skeletonOf(char)).toBe('')
})

test('one character may stand for several, with all that look like them', () => {
  expect(skeletonOf('ﬁ')).toBe('fi')
  expect(skeletonOf('㏄')).toBe('cc')
  expect(skeletonOf('①')).toBe('i')
  expect(skeletonOf('℀')).toBe('a/c')
})

test.each(['中', 'ж', '😀', 'あ', '\u{10330}', '㎍', '㋀'])('%s looks like nothing of ours', (char) => {
  expect(skeletonOf(char)).toBe('\0')
})

test('the second look is as the first, also after thousands of rare characters', () => {
  const text = 'aА<\u{1d41a}\u200b 中\n'
  const first = skeletonOf(text)
  expect(first).toBe('aa<a \0\n')
  for (let point = 0x20000; point < 0x21200; point += 1) expect(toSkeleton(point)).toBe('\0')
  expect(skeletonOf(text)).toBe(first)
})

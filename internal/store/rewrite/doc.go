// Package rewrite rewrites a history without some texts. The result follows from the history,
// the record of the purge and the scanner, so whoever has these can repeat it.
package rewrite

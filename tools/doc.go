// Package tools is what a model may ask for.
package tools

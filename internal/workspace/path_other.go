//go:build !unix

package workspace

import (
	"io/fs"
	"os"
)

const openFlags = os.O_RDONLY

func notFolder(error) bool { return false }

func keepOwner(*os.File, fs.FileInfo) {}

"""Names of the formats of weights. This module imports no torch, so that the command line shows them quickly."""

from typing import Literal, get_args

FileFormat = Literal["state-dict", "pretrain-gnns"]
FolderFormat = Literal["geometric", "hugging-face"]
ImportFormat = Literal["pretrain-gnns", "hugging-face"]

FILE_FORMATS: tuple[FileFormat, ...] = get_args(FileFormat)
FOLDER_FORMATS: tuple[FolderFormat, ...] = get_args(FolderFormat)
IMPORT_FORMATS: tuple[ImportFormat, ...] = get_args(ImportFormat)

"""The paper's tables: `plan` says which runs there are, `running` does them, `tables` tells what came out."""

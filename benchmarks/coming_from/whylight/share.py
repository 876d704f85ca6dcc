ex.save("why.html")
